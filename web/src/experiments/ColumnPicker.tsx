/* Which columns the table has: settings and labels, at first those alone that differ between the
 * runs, figures of series, and fields of jobs. */
import { useState } from "preact/hooks";
import type { ExperimentNames } from "@generated/client";
import { setQuery } from "@/base/route";
import { Dialog } from "@/components/parts";
import {
  FINAL_FIGURE,
  columnName,
  columnTitle,
  fieldsBeside,
  type Figure,
} from "@/experiments/names";
import { setColumns, withoutStep } from "@/experiments/view";

const FIGURES = Object.keys(FINAL_FIGURE) as Figure[];

interface Chosen {
  has: (name: string) => boolean;
  turn: (name: string) => void;
}

function Names({ title, names, chosen }: { title: string; names: string[]; chosen: Chosen }) {
  if (names.length === 0) return null;
  return (
    <fieldset class="column-names">
      <legend>{title}</legend>
      {names.map((name) => (
        <label key={name} title={name}>
          <input type="checkbox" checked={chosen.has(name)} onChange={() => chosen.turn(name)} />
          <span class="ellipsis">{columnTitle(name).text}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Series({ names, step, chosen }: { names: string[]; step: number | null; chosen: Chosen }) {
  if (names.length === 0) return null;
  return (
    <fieldset class="column-series">
      <legend>Series</legend>
      {names.map((series) => (
        <div key={series} role="group" aria-label={series}>
          <span class="ellipsis" title={series}>
            {series}
          </span>
          {FIGURES.map((figure) => (
            <button
              key={figure}
              type="button"
              class="small"
              disabled={figure === "at" && step === null}
              aria-pressed={chosen.has(columnName(series, figure))}
              onClick={() => chosen.turn(columnName(series, figure))}
            >
              {figure === "at" && step !== null ? `at ${step}` : FINAL_FIGURE[figure]}
            </button>
          ))}
        </div>
      ))}
    </fieldset>
  );
}

function StepField({ step, columns }: { step: number | null; columns: string[] | null }) {
  const set = (text: string) => {
    const next = /^[1-9]\d{0,14}$/.test(text) ? text : null;
    const left = next === null ? withoutStep(columns) : columns;
    setQuery({ step: next, columns: left === null ? null : left.join(",") });
  };
  return (
    <label class="row nowrap">
      at step
      <input
        type="number"
        min={1}
        class="step-field"
        value={step ?? ""}
        onChange={(e) => set(e.currentTarget.value)}
      />
    </label>
  );
}

export function ColumnPicker({
  names,
  shown,
  columns,
  step,
  onClose,
}: {
  names: ExperimentNames;
  /** The columns of the table, chosen or not. */
  shown: string[];
  columns: string[] | null;
  step: number | null;
  onClose: () => void;
}) {
  const [filter, setFilter] = useState("");
  const [all, setAll] = useState(false);
  const word = filter.trim().toLowerCase();
  const differing = new Set(names.differing);
  const fields = fieldsBeside([...names.settings, ...names.labels]);
  const isShown = (name: string) => name.toLowerCase().includes(word);
  const isOffered = (name: string) =>
    isShown(name) && (all || differing.has(name) || shown.includes(name));
  const chosen: Chosen = {
    has: (name) => shown.includes(name),
    turn: (name) =>
      setColumns(
        shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name].slice(-100),
      ),
  };
  return (
    <Dialog title="Columns" onClose={onClose} wide>
      <div class="row wrap">
        <input
          type="search"
          class="filter"
          value={filter}
          placeholder="Names"
          aria-label="Filter names of columns"
          onInput={(e) => setFilter(e.currentTarget.value)}
        />
        <label class="row nowrap">
          <input
            type="checkbox"
            checked={!all}
            onChange={(e) => setAll(!e.currentTarget.checked)}
          />
          only what differs
        </label>
        <StepField step={step} columns={columns} />
        <span class="spacer" />
        <button disabled={columns === null} onClick={() => setColumns(null)}>
          As at first
        </button>
      </div>
      <div class="column-lists">
        <Names title="Labels" names={names.labels.filter(isOffered)} chosen={chosen} />
        <Names title="Settings" names={names.settings.filter(isOffered)} chosen={chosen} />
        <Series names={names.series.filter(isShown)} step={step} chosen={chosen} />
        <Names title="Of the job" names={fields.filter(isShown)} chosen={chosen} />
      </div>
    </Dialog>
  );
}
