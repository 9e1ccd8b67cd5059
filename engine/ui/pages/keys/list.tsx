/** All keys and all budgets. */

import { useState } from 'preact/hooks'
import { usePoll } from '#engine/ui/api/poll.ts'
import { hrefOf, place, setQuery } from '#engine/ui/app/router.ts'
import { Act } from '#engine/ui/parts/act.tsx'
import { Meter } from '#engine/ui/parts/meter.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { Budgets } from './budgets.tsx'
import { Create } from './create.tsx'
import { accountOf, type Budget, budgetsOf, type Key, matching, shareOf, stateOf, tightest } from './key.ts'
import { StateBadge } from './state-badge.tsx'

const EVERY_MS = 5000

export function KeyList() {
  const keys = usePoll('listKeys', {}, EVERY_MS)
  const budgets = usePoll('listBudgets', {}, EVERY_MS)
  const [isMaking, setMaking] = useState(false)
  const search = place.value.query.get('q') ?? ''
  const teams = teamsOf(keys.data?.keys ?? [], budgets.data?.budgets ?? [])
  return (
    <>
      <Panel
        title="Keys"
        actions={
          <>
            <input
              data-search
              type="search"
              aria-label="Search keys"
              placeholder="Search"
              value={search}
              onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
            />
            <Act of="createKey" class="primary" onClick={() => setMaking(true)}>
              New key
            </Act>
          </>
        }
      >
        <Answered of={keys} what="Keys">
          {(data) => (
            <Rows keys={matching(data.keys, search)} all={data.keys.length} budgets={budgets.data?.budgets ?? []} />
          )}
        </Answered>
      </Panel>
      <Panel title="Budgets">
        <Answered of={budgets} what="Budgets">
          {(data) =>
            data.budgets.length === 0 ? (
              <Empty>No key, team or organisation has a budget.</Empty>
            ) : (
              <Budgets budgets={data.budgets} />
            )
          }
        </Answered>
      </Panel>
      {isMaking && <Create teams={teams} onMade={keys.refresh} onClose={() => setMaking(false)} />}
    </>
  )
}

function teamsOf(keys: readonly Key[], budgets: readonly Budget[]): string[] {
  const ofBudgets = budgets.map(accountOf).flatMap(({ kind, name }) => (kind === 'team' ? [name] : []))
  return [...new Set([...ofBudgets, ...keys.flatMap(({ team }) => (team === undefined ? [] : [team]))])].toSorted()
}

interface RowsProps {
  readonly keys: readonly Key[]
  /** How many there are without the search. */
  readonly all: number
  readonly budgets: readonly Budget[]
}

function Rows({ keys, all, budgets }: RowsProps) {
  const now = useNow()
  if (keys.length === 0) {
    return (
      <Empty>
        {all === 0
          ? 'There are no keys. One that is made here needs config.state, where it is kept.'
          : 'No key has this text.'}
      </Empty>
    )
  }
  return (
    <Table
      caption="Keys"
      rows={keys}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Name', cell: ({ name }) => <a href={hrefOf(['keys', name])}>{name}</a> },
        { title: 'State', cell: (key) => <StateBadge state={stateOf(key, now)} /> },
        { title: 'Owner', cell: ({ owner }) => owner },
        { title: 'Team', cell: ({ team }) => team },
        { title: 'Models', cell: ({ models }) => models?.join(', ') ?? 'all' },
        { title: 'Tightest budget', cell: (key) => <Tightest of={budgetsOf(key, budgets)} /> },
        { title: 'From', cell: ({ source }) => (source === 'api' ? 'API' : 'configuration') }
      ]}
    />
  )
}

function Tightest({ of }: { readonly of: readonly Budget[] }) {
  const budget = tightest(of)
  return budget === null ? null : <Meter label={`${budget.account}, ${budget.period}`} share={shareOf(budget)} />
}
