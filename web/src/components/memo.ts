/* A component that is rendered again only when one of its properties became another value. */
import { Component, h, type ComponentType, type VNode } from "preact";

export function memo<P extends object>(render: (props: P) => VNode): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      return Object.keys(then).some((key) => key !== "children" && now[key] !== then[key]);
    }
    override render(): VNode {
      return h(render as never, this.props as never);
    }
  };
}
