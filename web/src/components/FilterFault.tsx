/* Why a filter was not understood. The rows of the one before stay, so that nothing jumps while one
 * types. */
import { Icon } from "@/components/Icon";

export function FilterFault({ text }: { text: string }) {
  return (
    <div class="banner warn stale" role="status">
      <Icon name="warn" />
      <span>{text}</span>
    </div>
  );
}
