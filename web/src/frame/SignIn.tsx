/* Sign-in: the token is exchanged for an HttpOnly cookie. */
import { useState } from "preact/hooks";
import { api } from "@generated/client";
import { needsToken, type ApiError } from "@/api/transport";

export function SignIn() {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const send = async (event: Event) => {
    event.preventDefault();
    try {
      await api.createSession({}, { token: token.trim() });
      needsToken.value = false;
      location.reload();
    } catch (failure) {
      setError((failure as ApiError).message);
    }
  };
  return (
    <main class="sign-in panel">
      <form onSubmit={(event) => void send(event)}>
        <h1>csengine</h1>
        <label for="token">
          This server wants its token: the line in the file "token" of its directory, or in the file
          that it was started with (--token_file). The address that it printed holds the token as
          well.
        </label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          value={token}
          required
          aria-describedby="sign-in-error"
          onInput={(e) => setToken(e.currentTarget.value)}
        />
        <p id="sign-in-error" class="bad-text" role="alert">
          {error}
        </p>
        <button class="primary">Sign in</button>
      </form>
    </main>
  );
}
