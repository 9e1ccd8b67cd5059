/** One key: what it may do, what it has left, what it has spent. */

import { useState } from 'preact/hooks'
import { usePoll } from '#engine/ui/api/poll.ts'
import { hrefOf, navigate } from '#engine/ui/app/router.ts'
import { ago } from '#engine/ui/format/numbers.ts'
import { Act } from '#engine/ui/parts/act.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Figure, Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Budgets } from './budgets.tsx'
import { type Change, ChangeKey } from './change.tsx'
import { budgetsOf, type Key, stateOf } from './key.ts'
import { StateBadge } from './state-badge.tsx'

const EVERY_MS = 5000

export function KeyDetail({ name }: { readonly name: string }) {
  const key = usePoll('getKey', { names: { name } }, EVERY_MS)
  const budgets = usePoll('listBudgets', {}, EVERY_MS)
  const [change, setChange] = useState<Change | null>(null)
  const done = () => (change === 'remove' ? navigate(hrefOf(['keys'])) : key.refresh())
  return (
    <>
      <p>
        <a href={hrefOf(['keys'])}>All keys</a>
      </p>
      <Answered of={key} what="Key">
        {(data) => (
          <>
            <Panel title={data.name} actions={<Actions of={data} onChoose={setChange} />}>
              <Facts of={data} />
            </Panel>
            <Panel title="Budgets that it spends from">
              <Answered of={budgets} what="Budgets">
                {(all) => {
                  const own = budgetsOf(data, all.budgets)
                  return own.length === 0 ? <Empty>Nothing bounds what it spends.</Empty> : <Budgets budgets={own} />
                }}
              </Answered>
            </Panel>
            <p>
              <a href={hrefOf(['spend'], { key: data.name, by: 'model' })}>What it has spent</a>
            </p>
          </>
        )}
      </Answered>
      {change !== null && <ChangeKey change={change} name={name} onDone={done} onClose={() => setChange(null)} />}
    </>
  )
}

function Actions({
  of: { source, revoked },
  onChoose
}: {
  readonly of: Key
  readonly onChoose: (change: Change) => void
}) {
  if (source === 'configuration') return <span class="muted">of the configuration: it is changed there</span>
  return (
    <>
      <Act of="rotateKey" onClick={() => onChoose('rotate')}>
        Rotate
      </Act>
      <Act
        of="changeKey"
        class={revoked === true ? undefined : 'danger'}
        onClick={() => onChoose(revoked === true ? 'restore' : 'revoke')}
      >
        {revoked === true ? 'Restore' : 'Revoke'}
      </Act>
      <Act of="removeKey" class="danger" onClick={() => onChoose('remove')}>
        Remove
      </Act>
    </>
  )
}

function Facts({ of: key }: { readonly of: Key }) {
  const now = useNow()
  const { owner, team, organisation, tags = [], models, expires, createdAt, changedAt, previousValidUntil } = key
  const state = stateOf(key, now)
  return (
    <dl class="figures inside">
      <Figure
        name="State"
        value={<StateBadge state={state} />}
        note={state === 'rotating' ? `the value before ends ${ago(previousValidUntil!, now)}` : undefined}
      />
      <Figure name="Models" value={models?.join(', ') ?? 'all'} />
      {owner !== undefined && <Figure name="Owner" value={owner} />}
      {team !== undefined && <Figure name="Team" value={team} note={organisation} />}
      {tags.length > 0 && <Figure name="Tags" value={tags.join(', ')} />}
      {expires !== undefined && <Figure name="Expires" value={ago(expires, now)} note={expires} />}
      {createdAt !== undefined && (
        <Figure name="Made" value={ago(createdAt, now)} note={changedAt && `changed ${ago(changedAt, now)}`} />
      )}
    </dl>
  )
}
