/* A PNG of 8 bits a channel as one of at most 256 colours: those that are most frequent, once the
 * lowest bits are left out; every other pixel takes the nearest of them. */
import { deflateSync, inflateSync } from "node:zlib";

const CHANNELS = { 2: 3, 6: 4 };
const MOST = 256;

function* chunksOf(png) {
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield [png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + length)];
    at += length + 12;
  }
}

function paeth(a, b, c) {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/* Undoes the filters of the lines (PNG, section 9). */
function pixelsOf(data, width, height, channels) {
  const stride = width * channels;
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const a = x >= channels ? out[at - channels] : 0;
      const b = y > 0 ? out[at - stride] : 0;
      const c = x >= channels && y > 0 ? out[at - stride - channels] : 0;
      const add = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter];
      out[at] = data[y * (stride + 1) + 1 + x] + add;
    }
  }
  return out;
}

/* Of ISO 3309, as chunks have it (PNG, annex D). */
const CRCS = Uint32Array.from({ length: 256 }, (_, n) => {
  let crc = n;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
const crc32 = (bytes) =>
  (bytes.reduce((crc, one) => CRCS[(crc ^ one) & 255] ^ (crc >>> 8), 0xffffffff) ^ 0xffffffff) >>>
  0;

function chunk(name, body) {
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length);
  out.write(name, 4, "latin1");
  body.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + body.length)), 8 + body.length);
  return out;
}

/* Each colour, as 0xRRGGBB, and how often it is there. */
function colours(pixels, channels) {
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const one = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
    counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return counts;
}

/* The most frequent, but no two that differ in the lowest three bits alone. */
function paletteOf(counts) {
  const taken = new Set();
  const palette = [];
  for (const [one] of [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])) {
    const rough = one & 0xf8f8f8;
    if (taken.has(rough) && palette.length > 64) continue;
    taken.add(rough);
    palette.push(one);
    if (palette.length === MOST) break;
  }
  return palette;
}

function nearest(one, palette) {
  let best = 0;
  let least = Infinity;
  palette.forEach((other, i) => {
    const far = [16, 8, 0].reduce((sum, bit) => {
      const d = ((one >> bit) & 255) - ((other >> bit) & 255);
      return sum + d * d;
    }, 0);
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

export function reduced(png) {
  const chunks = [...chunksOf(png)];
  const head = chunks.find(([name]) => name === "IHDR")[1];
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), CHANNELS[head[9]]];
  const packed = Buffer.concat(chunks.filter(([name]) => name === "IDAT").map(([, body]) => body));
  const pixels = pixelsOf(inflateSync(packed), width, height, channels);
  const counts = colours(pixels, channels);
  const palette = paletteOf(counts);
  const index = new Map([...counts.keys()].map((one) => [one, nearest(one, palette)]));
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * channels;
      const one = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
      lines[y * (width + 1) + 1 + x] = index.get(one);
    }
  const fresh = Buffer.from(head);
  fresh[9] = 3; /* a palette */
  const table = Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
  return Buffer.concat([
    png.subarray(0, 8),
    chunk("IHDR", fresh),
    chunk("PLTE", table),
    chunk("IDAT", deflateSync(lines, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
