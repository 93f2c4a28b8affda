/* A drawing that is moved and scaled: by dragging, by the wheel, or by the keyboard. The transform
 * is set on the element directly; nothing is rendered again while it moves. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface PanZoomProps {
  width: number;
  height: number;
  label: string;
  children: ComponentChildren;
  defs?: ComponentChildren;
  /** Changes when another drawing is shown: it is fitted again. */
  fitKey: string;
  /** Receives a function that brings a place into view. */
  onReady?: (show: (x: number, y: number) => void) => void;
}

interface View {
  x: number;
  y: number;
  scale: number;
}

const LARGEST = 2.5;
const SMALLEST = 0.04;
/* Below this the boxes' text cannot be read: a tall graph starts at its top instead. */
const READABLE = 0.62;

export function PanZoom(props: PanZoomProps) {
  const svg = useRef<SVGSVGElement>(null);
  const group = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const size = useRef(props);
  size.current = props;

  const apply = () => {
    const { x, y, scale } = view.current;
    group.current?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    svg.current?.classList.toggle("far", scale < 0.45);
  };
  const fit = (whole: boolean) => {
    const box = svg.current?.getBoundingClientRect();
    if (!box || box.width === 0) return;
    const { width, height } = size.current;
    const all = Math.min(box.width / width, box.height / height, 1.1);
    const scale = whole ? all : Math.max(all, Math.min(READABLE, box.width / width));
    view.current = {
      scale,
      x: (box.width - width * scale) / 2,
      y: Math.max(0, (box.height - height * scale) / 2),
    };
    apply();
  };
  const zoom = (factor: number, cx?: number, cy?: number) => {
    const box = svg.current?.getBoundingClientRect();
    if (!box) return;
    const x = cx ?? box.width / 2;
    const y = cy ?? box.height / 2;
    const old = view.current;
    const scale = Math.min(LARGEST, Math.max(SMALLEST, old.scale * factor));
    const by = scale / old.scale;
    view.current = { scale, x: x - (x - old.x) * by, y: y - (y - old.y) * by };
    apply();
  };
  const pan = (dx: number, dy: number) => {
    view.current = { ...view.current, x: view.current.x + dx, y: view.current.y + dy };
    apply();
  };

  useEffect(() => fit(false), [props.fitKey]);
  useEffect(() => {
    const element = svg.current;
    if (!element) return undefined;
    props.onReady?.((x, y) => {
      const box = element.getBoundingClientRect();
      const scale = Math.max(view.current.scale, 0.8);
      view.current = { scale, x: box.width / 2 - x * scale, y: box.height / 2 - y * scale };
      apply();
    });
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || event.altKey)
        zoom(Math.exp(-event.deltaY * 0.0025), event.clientX - box.left, event.clientY - box.top);
      else pan(event.shiftKey ? -event.deltaY : -event.deltaX, event.shiftKey ? 0 : -event.deltaY);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);

  const drag = (event: PointerEvent) => {
    if (event.button !== 0 || (event.target as Element).closest("[role=button]")) return;
    const element = svg.current as SVGSVGElement;
    element.setPointerCapture(event.pointerId);
    const move = (e: PointerEvent) => pan(e.movementX, e.movementY);
    const up = () => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
  };
  const keys = (event: KeyboardEvent) => {
    const moves: Record<string, () => void> = {
      ArrowLeft: () => pan(60, 0),
      ArrowRight: () => pan(-60, 0),
      ArrowUp: () => pan(0, 60),
      ArrowDown: () => pan(0, -60),
      "+": () => zoom(1.25),
      "=": () => zoom(1.25),
      "-": () => zoom(0.8),
      "0": () => fit(true),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move();
  };
  return (
    <div class="pan-zoom">
      <svg
        ref={svg}
        role="group"
        aria-label={props.label}
        tabindex={0}
        onPointerDown={drag}
        onKeyDown={keys}
      >
        {props.defs}
        <g ref={group}>{props.children}</g>
      </svg>
      <div class="zoom" role="group" aria-label="Scale">
        <button class="icon" aria-label="Larger" onClick={() => zoom(1.25)}>
          +
        </button>
        <button class="icon" aria-label="Smaller" onClick={() => zoom(0.8)}>
          −
        </button>
        <button title="Show all" onClick={() => fit(true)}>
          fit
        </button>
      </div>
    </div>
  );
}
