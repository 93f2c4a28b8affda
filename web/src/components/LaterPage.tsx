/* A page that is loaded when it is opened. */
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { ApiError } from "@/api/transport";
import { loadCockpit, type Cockpit } from "@/base/cockpit";
import { loadLater, type Later } from "@/base/later";
import { Failure, Loading } from "@/components/parts";

function pageFrom<T>(load: () => Promise<T>, pick: (loaded: T) => ComponentType): ComponentType {
  return function LaterPage() {
    const [loaded, setLoaded] = useState<{ view: ComponentType } | null>(null);
    const [error, setError] = useState<ApiError | null>(null);
    useEffect(() => {
      load().then(
        (file) => setLoaded({ view: pick(file) }),
        (cause: Error) => setError(new ApiError(0, { detail: cause.message })),
      );
    }, []);
    if (error) return <Failure error={error} retry={() => location.reload()} />;
    if (!loaded) return <Loading />;
    const View = loaded.view;
    return <View />;
  };
}

export const laterPage = (pick: (later: Later) => ComponentType): ComponentType =>
  pageFrom(loadLater, pick);

export const cockpitPage = (pick: (cockpit: Cockpit) => ComponentType): ComponentType =>
  pageFrom(loadCockpit, pick);
