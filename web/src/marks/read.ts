/* What the API lists of a run, for its marks. */
import { api } from "@generated/client";
import { marksOf, type Happened, type OfRun } from "@/marks/marks";

async function readHappened(id: string): Promise<Happened> {
  const [{ alerts }, { checkpoints }, { membership }, { transitions }, { notes }] =
    await Promise.all([
      api.listAlerts({ id }),
      api.listCheckpoints({ id }),
      api.listMembershipChanges({ id }),
      api.listTransitions({ id }),
      api.listNotes({ id }),
    ]);
  return { alerts, checkpoints, membership, transitions, notes };
}

/** Of each of these runs. */
export async function readMarks(ids: string[]): Promise<OfRun> {
  return new Map(
    await Promise.all(ids.map(async (id) => [id, marksOf(await readHappened(id))] as const)),
  );
}
