/* A page that is loaded when it is opened. */
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { ApiError } from "@/api/transport";
import { loadCockpit, loadLater, type Cockpit, type Later } from "@/base/later";
import { Failure, Loading } from "@/components/parts";

export const laterPage = (pick: (later: Later) => ComponentType): ComponentType =>
  pageOf(async () => pick(await loadLater()));

export const cockpitPage = (pick: (cockpit: Cockpit) => ComponentType): ComponentType =>
  pageOf(async () => pick(await loadCockpit()));

/** A page of a file of its own. */
export const pageOf = (load: () => Promise<ComponentType>): ComponentType =>
  function LaterPage() {
    const [loaded, setLoaded] = useState<{ view: ComponentType } | null>(null);
    const [error, setError] = useState<ApiError | null>(null);
    useEffect(() => {
      load().then(
        (view) => setLoaded({ view }),
        (cause: Error) => setError(new ApiError(0, { detail: cause.message })),
      );
    }, []);
    if (error) return <Failure error={error} retry={() => location.reload()} />;
    if (!loaded) return <Loading />;
    const View = loaded.view;
    return <View />;
  };
