/* Any past step, and all of its tensors. The viewer itself is loaded when the page is opened. */
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import { ApiError } from "@/api/transport";
import { Failure, Loading } from "@/components/parts";
import type { PageEntry } from "@/frame/page";

declare const IS_REPORT: boolean;

const load = (): Promise<ComponentType> =>
  IS_REPORT
    ? Promise.reject(new ApiError(0, { detail: "a report has no server that does steps again" }))
    : import("@/tensors/Viewer").then((found) => found.Viewer);

export function Tensors() {
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
}

export const page: PageEntry = {
  name: "tensors",
  order: 115,
  title: "Tensors",
  icon: "tensors",
  key: "b",
  view: Tensors,
  ofJob: true,
  live: true,
};
