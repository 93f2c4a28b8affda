/* The frame around every page: the bar on top with the job at hand, the list of pages, the page,
 * and what the server answered. */
import { render, type ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { signal, useSignalEffect } from "@preact/signals";
import "uplot/dist/uPlot.min.css";
import "@/styles/tokens.css";
import "@/styles/base.css";
import "@/styles/layout.css";
import "@/styles/components.css";
import "@/styles/pages.css";
import "@/styles/graph.css";
import "@/styles/samples.css";
import "@/styles/topology.css";
import "@/styles/experiments.css";
import "@/styles/tensors.css";
import "@/styles/sweeps.css";
import "@/styles/narrow.css";
import { needsToken } from "@/api/transport";
import { loadLater } from "@/base/later";
import { href, segments } from "@/base/route";
import { tell } from "@/job/actions";
import { current, openJob } from "@/job/model";
import { Empty } from "@/components/parts";
import { watchServer } from "@/api/freshness";
import { Freshness } from "@/frame/Freshness";
import { Keyboard } from "@/frame/Keyboard";
import { Notes } from "@/frame/Notes";
import { Rail } from "@/frame/Rail";
import { SignIn } from "@/frame/SignIn";
import { TopBar } from "@/frame/TopBar";
import type { AskedProps } from "@/frame/page";
import { PAGES, pageOf } from "@/frame/pages";
import { reportAnswers } from "@/api/report";
import type { JobList } from "@generated/client";

declare const IS_REPORT: boolean;

/* A dialog of the frame that is open. */
const asked = signal<ComponentType<AskedProps> | null>(null);
const ask = (name: "Help" | "Palette"): void =>
  void loadLater().then(
    (later) => (asked.value = later[name]),
    (cause: Error) => tell("bad", `This part of the pages could not be loaded: ${cause.message}`),
  );

function Page() {
  const { page, job } = pageOf(segments.value);
  useEffect(() => openJob(job), [job]);
  if (!page)
    return (
      <Empty title="There is no such page">
        <a href={href("/jobs")}>All jobs</a>
      </Empty>
    );
  const model = current.value;
  if (page.ofJob && model?.id !== job) return null;
  const View = page.view;
  return <View key={job ?? page.name} />;
}

function Frame() {
  useSignalEffect(() => {
    const { page, job } = pageOf(segments.value);
    const name = current.value?.job.value?.name ?? job;
    document.title = [page?.title, name, "csengine"].filter(Boolean).join(" · ");
  });
  const { page, job } = pageOf(segments.value);
  /* On a narrow window the list of pages is a strip that scrolls. */
  useEffect(() => {
    const here = document.querySelector<HTMLElement>(".rail [aria-current]");
    const rail = here?.parentElement;
    if (here && rail && rail.scrollWidth > rail.clientWidth)
      rail.scrollLeft = here.offsetLeft - (rail.clientWidth - here.offsetWidth) / 2;
  }, [page?.name, job, needsToken.value]);
  const Asked = asked.value;
  if (needsToken.value) return <SignIn />;
  return (
    <>
      <a
        class="skip"
        href="#page"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("page")?.focus();
        }}
      >
        Skip to the page
      </a>
      <div class="frame">
        <TopBar onHelp={() => ask("Help")} />
        <Rail job={job} page={page?.name ?? ""} />
        <main id="page" tabIndex={0} class={page?.fill ? "page fill" : "page"}>
          <Freshness />
          <Page />
        </main>
      </div>
      <Keyboard job={job} onHelp={() => ask("Help")} onPalette={() => ask("Palette")} />
      {Asked && <Asked pages={PAGES} job={job} onClose={() => (asked.value = null)} />}
      <Notes />
    </>
  );
}

/* A report is about one run: it opens on it. */
function firstAddress(): void {
  if (!IS_REPORT || location.hash.length > 2) return;
  const list = reportAnswers()["/api/v1/jobs"] as JobList | undefined;
  const job = list?.jobs[0];
  if (job && list?.jobs.length === 1) location.hash = `/jobs/${encodeURIComponent(job.id)}/pulse`;
}

firstAddress();
if (!IS_REPORT) watchServer();
const host = document.getElementById("app") as HTMLElement;
host.textContent = "";
render(<Frame />, host);
performance.mark("csengine-first-render");
