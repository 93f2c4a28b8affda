/* What can be done with the job of this tab besides its commands: change what is kept about it,
 * delete it. */
import { useState } from "preact/hooks";
import { api, type Job } from "@generated/client";
import { useResource } from "@/base/resource";
import { navigate } from "@/base/route";
import { DeleteDialog, EditDialog } from "@/components/JobDialogs";
import { Icon } from "@/components/Icon";
import { isRemovable } from "@/job/manage";

export function JobMenu({ job }: { job: Job }) {
  const [asking, setAsking] = useState<"edit" | "delete" | null>(null);
  const close = () => setAsking(null);
  const version = useResource(() => api.getVersion(), []);
  /* A server of one run keeps nothing about it. */
  if (version.data?.mode !== "root") return null;
  return (
    <>
      <button
        data-command="edit"
        title="Name, priority and labels"
        aria-label="Edit name, priority and labels"
        onClick={() => setAsking("edit")}
      >
        <Icon name="edit" />
        <span>Edit</span>
      </button>
      {isRemovable(job) && (
        <button
          class="danger"
          data-command="delete"
          aria-label="Delete the job"
          title="Delete the job"
          onClick={() => setAsking("delete")}
        >
          <Icon name="bin" />
          <span>Delete</span>
        </button>
      )}
      {asking === "edit" && <EditDialog jobs={[job]} onClose={close} />}
      {asking === "delete" && (
        <DeleteDialog jobs={[job]} onClose={close} onDone={() => navigate("/jobs")} />
      )}
    </>
  );
}
