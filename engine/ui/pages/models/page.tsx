/** Models: who provides them, how they fare, and a playground that asks them through the gateway. */
import { useMemo } from 'preact/hooks'
import type { Answer } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { count, money, percent } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { doorsOf, healthOf, type Model, modelsOf, namesOf } from './models.ts'
import { Now } from './now.tsx'
import { Playground } from './playground.tsx'

const EVERY_MS = 5000
const SPEND_EVERY_MS = 15_000

type Sums = Answer<'sumSpend'>['sums']

export default function Models() {
  const configuration = usePoll('getConfiguration', {}, EVERY_MS)
  const backends = usePoll('listBackends', {}, EVERY_MS)
  const spend = usePoll('sumSpend', { query: { groupBy: 'model' } }, SPEND_EVERY_MS)
  const { data } = configuration
  const [models, doors] = useMemo(
    () => (data === null ? [[], []] : [modelsOf(data), doorsOf(data)]),
    [data?.version, data?.hash]
  )
  return (
    <>
      <Panel title="Models">
        <Answered of={configuration} what="Models">
          {() =>
            models.length === 0 ? (
              <Empty>The configuration has no models: llm.models, or a backend of kind ai, names some.</Empty>
            ) : (
              <Rows models={models} backends={backends.data} sums={spend.data?.sums ?? null} />
            )
          }
        </Answered>
      </Panel>
      {models.length > 0 && <Now />}
      {doors.length > 0 && <Playground doors={doors} models={namesOf(models)} />}
    </>
  )
}

interface RowsProps {
  readonly models: readonly Model[]
  readonly backends: Answer<'listBackends'> | null
  /** Of thirty days; null: no records are kept. */
  readonly sums: Sums | null
}

function Rows({ models, backends, sums }: RowsProps) {
  const sumOf = ({ name }: Model) => sums?.find(({ model }) => name !== null && model === name)
  return (
    <Table
      caption="Models"
      rows={models}
      keyOf={({ backend, provider, name }) => `${backend} ${provider} ${name}`}
      columns={[
        { title: 'Model', cell: ({ name }) => name ?? <span class="muted">any</span> },
        { title: 'Provider', cell: ({ provider, type }) => (provider === type ? type : `${provider} (${type})`) },
        { title: 'At', cell: ({ address }) => <code>{address}</code> },
        { title: 'State', cell: (model) => backends !== null && <Health of={healthOf(model, backends)} /> },
        { title: 'Speaks', cell: ({ formats }) => formats.join(', ') },
        { title: 'Calls, 30 days', cell: (model) => count(sumOf(model)?.calls ?? 0), isNumber: true },
        { title: 'Failed', cell: (model) => failedOf(sumOf(model)), isNumber: true },
        { title: 'Cost', cell: (model) => costOf(sumOf(model)), isNumber: true }
      ]}
    />
  )
}

function Health({ of }: { readonly of: ReturnType<typeof healthOf> }) {
  if (of === null) return <span class="muted">not called yet</span>
  return (
    <>
      <Badge tone={of.isWell ? 'ok' : 'bad'}>{of.isWell ? 'healthy' : 'away'}</Badge> {of.why}
    </>
  )
}

function failedOf(sum: Sums[number] | undefined): string {
  return sum === undefined || sum.calls === 0 ? '' : percent(Number(sum.errors) / sum.calls)
}

const costOf = (sum: Sums[number] | undefined): string => (sum === undefined ? '' : money(sum.cost, sum.currency))
