/* Navigation at the left: the server's pages and those of the selected job. */
import { href } from "@/base/route";
import { Icon } from "@/components/Icon";
import { PAGES, type PageEntry } from "@/frame/pages";
import { current } from "@/job/model";

declare const IS_REPORT: boolean;

function Entry({ entry, to, isCurrent }: { entry: PageEntry; to: string; isCurrent: boolean }) {
  return (
    <a href={href(to)} aria-current={isCurrent ? "page" : undefined} title={entry.title}>
      <Icon name={entry.icon} />
      <span>{entry.title}</span>
    </a>
  );
}

export function Rail({ job, page }: { job: string | null; page: string }) {
  const shown = (entry: PageEntry) => !(IS_REPORT && entry.live);
  /* A job that does not exist has no pages. */
  const isThere = job !== null && current.value?.error.value?.status !== 404;
  const name = current.value?.job.value?.name ?? job;
  return (
    <nav class="rail" aria-label="Pages">
      {PAGES.filter((entry) => !entry.ofJob && shown(entry)).map((entry) => (
        <Entry
          key={entry.name}
          entry={entry}
          to={`/${entry.name}`}
          isCurrent={!job && page === entry.name}
        />
      ))}
      {isThere && (
        <h2 class="ellipsis" title={name ?? ""}>
          {name}
        </h2>
      )}
      {isThere &&
        PAGES.filter((entry) => entry.ofJob && shown(entry)).map((entry) => (
          <Entry
            key={entry.name}
            entry={entry}
            to={`/jobs/${encodeURIComponent(job ?? "")}/${entry.name}`}
            isCurrent={page === entry.name}
          />
        ))}
    </nav>
  );
}
