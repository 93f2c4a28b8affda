/* The list of shortcuts. */
import { Dialog } from "@/components/parts";
import type { AskedProps } from "@/frame/page";

const Key = ({ text }: { text: string }) => <kbd>{text}</kbd>;

export function Help({ pages, onClose }: AskedProps) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {pages.map((page) => (
          <div key={page.name}>
            <dt>
              <Key text="g" /> <Key text={page.key} />
            </dt>
            <dd>{page.title}</dd>
          </div>
        ))}
        <div>
          <dt>
            <Key text="/" />
          </dt>
          <dd>the page's filter</dd>
        </div>
        <div>
          <dt>
            <Key text="Ctrl" /> <Key text="k" />
          </dt>
          <dd>go to a page or job, or do something with this one</dd>
        </div>
        <div>
          <dt>
            <Key text="?" />
          </dt>
          <dd>this list</dd>
        </div>
        <div>
          <dt>
            <Key text="←" /> <Key text="→" />
          </dt>
          <dd>move a chart or graph</dd>
        </div>
        <div>
          <dt>
            <Key text="+" /> <Key text="−" /> <Key text="0" />
          </dt>
          <dd>scale a chart or graph; show all</dd>
        </div>
      </dl>
      <p class="soft small">
        With the mouse: drag selects a range of a chart, Shift and drag moves it, Ctrl and the wheel
        scale it, a double click shows all.
      </p>
    </Dialog>
  );
}
