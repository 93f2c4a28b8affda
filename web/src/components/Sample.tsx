/* One sample of the data as people see it: a picture on a canvas, a text, or its first numbers. */
import { useEffect, useRef } from "preact/hooks";
import type { SamplePicture, SampleView } from "@generated/client";
import { number } from "@/base/format";

const RGBA = 4;

function pixelsOf(picture: SamplePicture): ImageData {
  const bytes = Uint8Array.from(atob(picture.pixels), (letter) => letter.charCodeAt(0));
  const image = new ImageData(picture.width, picture.height);
  for (let i = 0; i < picture.width * picture.height; i++)
    for (let c = 0; c < RGBA; c++)
      image.data[RGBA * i + c] =
        c === RGBA - 1 ? 255 : (bytes[picture.channels * i + (picture.channels > 1 ? c : 0)] ?? 0);
  return image;
}

export function Picture({ picture, label }: { picture: SamplePicture; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(pixelsOf(picture), 0, 0);
  }, [picture.pixels]);
  return (
    <canvas
      ref={canvas}
      class="sample-picture"
      width={picture.width}
      height={picture.height}
      role="img"
      aria-label={label}
    />
  );
}

/** "lying", or the number where classes have no names. */
export const labelOf = (sample: SampleView): string | null =>
  sample.name ?? (sample.label === undefined ? null : String(sample.label));

export function SampleBody({ sample }: { sample: SampleView }) {
  const label = labelOf(sample);
  if (sample.picture)
    return <Picture picture={sample.picture} label={label ?? `sample ${sample.sample}`} />;
  if (sample.text !== undefined) return <pre class="sample-text">{sample.text}</pre>;
  return (
    <code class="sample-text">{(sample.values ?? []).map((one) => number(one, 4)).join("  ")}</code>
  );
}
