/** Budgets, and how far each is used. */
import { ago, money } from '#engine/ui/format/numbers.ts'
import { Meter } from '#engine/ui/parts/meter.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Table } from '#engine/ui/parts/table.tsx'
import { accountOf, type Budget, shareOf } from './key.ts'

export function Budgets({ budgets }: { readonly budgets: readonly Budget[] }) {
  const now = useNow()
  return (
    <Table
      caption="Budgets"
      rows={budgets}
      keyOf={({ account, period }) => `${account} ${period}`}
      columns={[
        { title: 'Of', cell: (row) => <Account of={row} /> },
        { title: 'Period', cell: ({ period }) => period },
        { title: 'Used', cell: (row) => <Meter label={`${row.account}, ${row.period}`} share={shareOf(row)} /> },
        { title: 'Spent', cell: ({ spent }) => money(spent), isNumber: true },
        { title: 'Set aside', cell: ({ reserved }) => money(reserved), isNumber: true },
        { title: 'Amount', cell: ({ amount }) => money(amount), isNumber: true },
        { title: 'Begins anew', cell: ({ resetsAt }) => (resetsAt === null ? 'never' : ago(resetsAt, now)) }
      ]}
    />
  )
}

function Account({ of }: { readonly of: Budget }) {
  const { kind, name } = accountOf(of)
  return (
    <>
      <span class="muted">{kind}</span> {name}
    </>
  )
}
