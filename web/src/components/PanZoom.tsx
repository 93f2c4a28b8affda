/* A drawing that is moved and scaled: by dragging, by the wheel, or by the keyboard. The transform
 * is set on the element directly; nothing is rendered again while it moves. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { keyMoves } from "@/base/keys";

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

const LARGEST = 2.5;
const SMALLEST = 0.04;
/* Below this the boxes' text cannot be read: a tall graph starts at its top instead. */
const READABLE = 0.62;
const FAR = 0.45;
const NEAR = 0.8;

/* The transform, and what changes it. */
class View {
  svg: SVGSVGElement | null = null;
  group: SVGGElement | null = null;
  size = { width: 1, height: 1 };
  private x = 0;
  private y = 0;
  private scale = 1;

  private get box(): DOMRect {
    return this.svg?.getBoundingClientRect() ?? new DOMRect();
  }

  private apply(): void {
    this.group?.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`);
    this.svg?.classList.toggle("far", this.scale < FAR);
  }

  fit(whole: boolean): void {
    const { box, size } = this;
    if (box.width === 0) return;
    const all = Math.min(box.width / size.width, box.height / size.height, 1.1);
    this.scale = whole ? all : Math.max(all, Math.min(READABLE, box.width / size.width));
    this.x = (box.width - size.width * this.scale) / 2;
    this.y = Math.max(0, (box.height - size.height * this.scale) / 2);
    this.apply();
  }

  /** About a point of the window, or the middle. */
  zoom(factor: number, cx?: number, cy?: number): void {
    const { box } = this;
    const x = cx ?? box.width / 2;
    const y = cy ?? box.height / 2;
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    const by = scale / this.scale;
    this.x = x - (x - this.x) * by;
    this.y = y - (y - this.y) * by;
    this.scale = scale;
    this.apply();
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.apply();
  }

  show(x: number, y: number): void {
    const { box } = this;
    this.scale = Math.max(this.scale, NEAR);
    this.x = box.width / 2 - x * this.scale;
    this.y = box.height / 2 - y * this.scale;
    this.apply();
  }

  readonly wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { box } = this;
    if (event.ctrlKey || event.metaKey || event.altKey)
      this.zoom(
        Math.exp(-event.deltaY * 0.0025),
        event.clientX - box.left,
        event.clientY - box.top,
      );
    else if (event.shiftKey) this.pan(-event.deltaY, 0);
    else this.pan(-event.deltaX, -event.deltaY);
  };

  readonly drag = (event: PointerEvent): void => {
    const { svg } = this;
    if (!svg || event.button !== 0 || (event.target as Element).closest("[role=button]")) return;
    svg.setPointerCapture(event.pointerId);
    const move = (e: PointerEvent) => this.pan(e.movementX, e.movementY);
    const up = () => {
      svg.removeEventListener("pointermove", move);
      svg.removeEventListener("pointerup", up);
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", up);
  };

  readonly keys = keyMoves({
    ArrowLeft: () => this.pan(60, 0),
    ArrowRight: () => this.pan(-60, 0),
    ArrowUp: () => this.pan(0, 60),
    ArrowDown: () => this.pan(0, -60),
    "+": () => this.zoom(1.25),
    "-": () => this.zoom(0.8),
    "0": () => this.fit(true),
  });
}

export function PanZoom(props: PanZoomProps) {
  const svg = useRef<SVGSVGElement>(null);
  const group = useRef<SVGGElement>(null);
  const view = useMemo(() => new View(), []);
  view.size = props;
  useEffect(() => {
    const element = svg.current;
    view.svg = element;
    view.group = group.current;
    props.onReady?.((x, y) => view.show(x, y));
    element?.addEventListener("wheel", view.wheel, { passive: false });
    return () => element?.removeEventListener("wheel", view.wheel);
  }, []);
  useEffect(() => view.fit(false), [props.fitKey]);
  return (
    <div class="pan-zoom">
      <svg
        ref={svg}
        role="group"
        aria-label={props.label}
        tabindex={0}
        onPointerDown={view.drag}
        onKeyDown={view.keys}
      >
        {props.defs}
        <g ref={group}>{props.children}</g>
      </svg>
      <div class="zoom" role="group" aria-label="Scale">
        <button class="icon" aria-label="Larger" onClick={() => view.zoom(1.25)}>
          +
        </button>
        <button class="icon" aria-label="Smaller" onClick={() => view.zoom(0.8)}>
          −
        </button>
        <button title="Show all" onClick={() => view.fit(true)}>
          fit
        </button>
      </div>
    </div>
  );
}
