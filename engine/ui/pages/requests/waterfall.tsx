/** One request's whole story: each step with its time, what ended it, and what it read. */
import type { Story } from '#engine/story/story.ts'
import { duration, money } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Copy } from '#engine/ui/parts/copy.tsx'
import { Figure } from '#engine/ui/parts/panel.tsx'
import { againAsCommand, againAsTest } from './again.ts'
import { rowsOf } from './story.ts'

export function Waterfall({ of }: { readonly of: Story }) {
  const { status, code, detail, took, backend, bytes, llm, mcp, notes, request, requestId } = of
  return (
    <div class="stack">
      <dl class="figures inside">
        <Figure
          name="Answer"
          value={
            <Badge tone={status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad'}>{`${status} ${code ?? ''}`.trim()}</Badge>
          }
          note={backend === null ? 'by the gateway' : `by ${backend}`}
        />
        <Figure name="Took" value={duration(took / 1000)} note={`from ${request.from}`} />
        <Figure name="Bytes" value={`${bytes.received} in, ${bytes.sent} out`} note={`HTTP/${request.httpVersion}`} />
        <Figure name="Id" value={<code>{requestId}</code>} />
        {llm !== null && (
          <Figure
            name="Model"
            value={llm.responseModel ?? llm.requestModel ?? llm.operation ?? ''}
            note={`${llm.inputTokens ?? 0} in, ${llm.outputTokens ?? 0} out${llm.cost === null ? '' : `, ${money(llm.cost)}`}`}
          />
        )}
        {mcp !== null && <Figure name="MCP" value={mcp.item ?? mcp.method ?? ''} note={mcp.target ?? undefined} />}
      </dl>
      {detail !== null && <p class="mono body">{detail}</p>}
      <ol class="waterfall" aria-label="Steps">
        {rowsOf(of).map(({ name, what, more, tone, from, share, took: own }, i) => (
          <li key={`${i} ${name}`}>
            <div>
              <b>{name}</b> {what}
              {more.map((line) => (
                <div key={line} class="mono muted">
                  {line}
                </div>
              ))}
            </div>
            <div class="track" aria-hidden="true">
              <i class={`bar ${tone}`} style={{ left: `${from * 100}%`, width: `${share * 100}%` }} />
            </div>
            <span class="number">{own === null ? '' : duration(own / 1000)}</span>
          </li>
        ))}
      </ol>
      {notes.map((note) => (
        <p key={note} class="muted body">
          {note}
        </p>
      ))}
      <details class="body">
        <summary>Do it again: as a command, as a test</summary>
        <div class="stack">
          <p>Stories have no headers and no bodies. What was secret or is not known stands between &lt; and &gt;.</p>
          <Copy label="This request as a command" text={againAsCommand(of)} />
          <Copy label="This request as a test" text={againAsTest(of)} />
        </div>
      </details>
    </div>
  )
}
