/* A page whose program is loaded when it is opened (frame/later). */
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { ApiError } from "@/api/transport";
import { Failure, Loading } from "@/components/parts";

declare const IS_REPORT: boolean;

type Later = typeof import("@/frame/later");

const load = (name: keyof Later): Promise<ComponentType> =>
  IS_REPORT
    ? Promise.reject(new ApiError(0, { detail: "a report has no server that this page asks" }))
    : import("@/frame/later").then((found) => found[name]);

export function LoadedPage({ name }: { name: keyof Later }) {
  const [loaded, setLoaded] = useState<{ view: ComponentType } | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    load(name).then(
      (view) => setLoaded({ view }),
      (cause: Error) => setError(new ApiError(0, { detail: cause.message })),
    );
  }, []);
  if (error) return <Failure error={error} retry={() => location.reload()} />;
  if (!loaded) return <Loading />;
  const View = loaded.view;
  return <View />;
}
