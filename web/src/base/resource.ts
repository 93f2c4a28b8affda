/* A hook for what a page reads once, or again whenever a key changes: data, error, loading. Answers
 * to a question that is no longer asked are dropped. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "@/api/transport";

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  reload: () => void;
}

export function useResource<T>(
  read: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  every_ms = 0,
): Resource<T> {
  const [state, setState] = useState<Omit<Resource<T>, "reload">>({
    data: undefined,
    error: undefined,
    loading: true,
  });
  const asked = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const reload = useCallback(() => {
    const turn = ++asked.current;
    const abort = new AbortController();
    reader.current(abort.signal).then(
      (data) => turn === asked.current && setState({ data, error: undefined, loading: false }),
      (error: ApiError) =>
        turn === asked.current &&
        error.name !== "AbortError" &&
        setState((old) => ({ data: old.data, error, loading: false })),
    );
    return abort;
  }, []);
  useEffect(() => {
    const abort = reload();
    const timer = every_ms > 0 ? setInterval(reload, every_ms) : undefined;
    return () => {
      abort.abort();
      clearInterval(timer);
      asked.current++;
    };
  }, [...keys, every_ms]);
  return { ...state, reload: () => void reload() };
}

/** Runs `task` once calls have stopped for `wait_ms`. */
export function debounce<A extends unknown[]>(task: (...a: A) => void, wait_ms: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args: A) => {
    clearTimeout(timer);
    timer = setTimeout(() => task(...args), wait_ms);
  };
}
