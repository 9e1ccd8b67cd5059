/** Overview: is it well, and if not, what is not. */
import { useMemo } from 'preact/hooks'
import type { Answer } from '#engine/ui/api/client.ts'
import { type Polled, usePoll } from '#engine/ui/api/poll.ts'
import { ago, duration } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Figure, Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty, Failure } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { Live } from './live.tsx'
import { namesByDestination } from './names.ts'

const STATUS_EVERY_MS = 2000
const BACKENDS_EVERY_MS = 2000
const CONFIGURATION_EVERY_MS = 15_000

type Status = Answer<'getStatus'>
type Destination = Answer<'listBackends'>['backends'][number]
type Address = Destination['addresses'][number]

export default function Overview() {
  const status = usePoll('getStatus', {}, STATUS_EVERY_MS)
  const backends = usePoll('listBackends', {}, BACKENDS_EVERY_MS)
  return (
    <>
      <Answered of={status} what="State of the gateway">
        {(data) => <Gateway status={data} />}
      </Answered>
      <Live />
      <Panel title="Backends">
        <Backends of={backends} />
      </Panel>
      <Answered of={status} what="Workers">
        {(data) => <Workers status={data} />}
      </Answered>
    </>
  )
}

function Gateway({ status }: { readonly status: Status }) {
  const now = useNow()
  const { program, configuration, lastError, workers, pending, isReady, logLevel } = status
  const serving = workers.filter(({ state }) => state === 'serving').length
  return (
    <>
      {lastError !== null && (
        <div class="failure" role="alert">
          <p>
            A configuration was refused {ago(lastError.at, now)}.{' '}
            {configuration !== null && 'The one before it is in force.'}
          </p>
          <pre>{lastError.message}</pre>
        </div>
      )}
      <dl class="figures">
        <Figure
          name="State"
          value={isReady ? 'Ready' : 'Not ready'}
          note={
            isReady
              ? `up ${duration(Math.max(0, now - Date.parse(program.startedAt)))}`
              : `waits for ${pending.join(', ')}`
          }
        />
        <Figure name="Workers" value={`${serving} of ${workers.length}`} note="serving" />
        <Figure
          name="Configuration"
          value={configuration === null ? 'none' : `number ${configuration.version}`}
          note={
            configuration === null ? 'not accepted yet' : `${configuration.hash}, ${ago(configuration.acceptedAt, now)}`
          }
        />
        <Figure name="Version" value={program.version} note={`logs at ${logLevel}`} />
      </dl>
    </>
  )
}

interface Row extends Address {
  readonly destination: string
}

function Backends({ of }: { readonly of: Polled<Answer<'listBackends'>> }) {
  const { data } = usePoll('getConfiguration', {}, CONFIGURATION_EVERY_MS)
  const names = useMemo(() => (data === null ? null : namesByDestination(data)), [data?.version, data?.hash])
  return (
    <Answered of={of} what="Backends">
      {({ backends }) => {
        const rows = backends.flatMap(({ destination, addresses }) =>
          addresses.map((one): Row => ({ destination, ...one }))
        )
        if (rows.length === 0) return <Empty>No address is known yet: they are looked up with the first request.</Empty>
        return (
          <Table
            caption="Addresses of backends"
            rows={rows}
            keyOf={({ destination, address, host }) => `${destination} ${address} ${host}`}
            columns={[
              { title: 'Backend', cell: ({ destination }) => names?.get(destination)?.join(', ') ?? '' },
              { title: 'Destination', cell: ({ destination }) => destination },
              { title: 'Address', cell: ({ address }) => <code>{address}</code> },
              { title: 'State', cell: (row) => <Health of={row} /> },
              { title: 'Why', cell: whyOf },
              { title: 'Weight', cell: ({ weight }) => weight, isNumber: true },
              { title: 'Under way', cell: ({ requests }) => requests, isNumber: true }
            ]}
          />
        )
      }}
    </Answered>
  )
}

function Health({ of: { state } }: { readonly of: Address }) {
  return <Badge tone={state === 'healthy' ? 'ok' : state === 'ejected' ? 'warn' : 'bad'}>{state}</Badge>
}

function whyOf({ state, reason, forMs }: Address): string {
  if (state === 'healthy') return ''
  return forMs === 0 ? reason : `${reason}; tried again in ${duration(forMs)}`
}

function Workers({ status }: { readonly status: Status }) {
  const now = useNow()
  if (status.workers.length === 0) return <Failure message="No worker runs." />
  return (
    <Panel title="Workers">
      <Table
        caption="Workers"
        rows={status.workers}
        keyOf={({ id, startedAt }) => `${id} ${startedAt}`}
        columns={[
          { title: 'Worker', cell: ({ id }) => id },
          {
            title: 'State',
            cell: ({ state }) => (
              <Badge tone={state === 'serving' ? 'ok' : state === 'stopped' ? 'bad' : 'warn'}>{state}</Badge>
            )
          },
          { title: 'Started', cell: ({ startedAt }) => <time dateTime={startedAt}>{ago(startedAt, now)}</time> }
        ]}
      />
    </Panel>
  )
}
