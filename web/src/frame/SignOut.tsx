/* Ends the session of this browser, where the server wants a token. */
import { api } from "@generated/client";
import { needsToken } from "@/api/transport";
import { useResource } from "@/base/resource";
import { Icon } from "@/components/Icon";

declare const IS_REPORT: boolean;

export function SignOut() {
  const session = useResource(
    () => (IS_REPORT ? Promise.resolve(null) : api.getSession()),
    [needsToken.value],
  );
  if (!session.data?.required) return null;
  const end = async () => {
    await api.deleteSession();
    location.reload();
  };
  return (
    <button
      class="plain icon"
      data-command="sign-out"
      aria-label="Sign out"
      title="Sign out"
      onClick={() => void end()}
    >
      <Icon name="leave" />
    </button>
  );
}
