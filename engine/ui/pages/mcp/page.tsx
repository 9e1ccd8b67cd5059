/** MCP: what an identity sees at an endpoint of the gateway, and calls of it. */
import { useMemo } from 'preact/hooks'
import { usePoll } from '#engine/ui/api/poll.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { Client } from './client.tsx'
import { mcpDoorsOf } from './doors.ts'

const EVERY_MS = 5000

export default function Mcp() {
  const configuration = usePoll('getConfiguration', {}, EVERY_MS)
  const { data } = configuration
  const doors = useMemo(() => (data === null ? [] : mcpDoorsOf(data)), [data?.version, data?.hash])
  return (
    <>
      <Panel title="Endpoints">
        <Answered of={configuration} what="Endpoints">
          {() =>
            doors.length === 0 ? (
              <Empty>The configuration has no MCP servers: mcp.targets, or a backend of kind mcp, names some.</Empty>
            ) : (
              <Table
                caption="MCP endpoints"
                rows={doors}
                keyOf={({ title, url }) => `${title} ${url}`}
                columns={[
                  { title: 'Route', cell: ({ title }) => title },
                  { title: 'At', cell: ({ url }) => <code>{url}</code> },
                  {
                    title: 'Servers',
                    cell: ({ targets }) => targets.map(({ name, kind }) => `${name} ${kind && `(${kind})`}`).join(', ')
                  }
                ]}
              />
            )
          }
        </Answered>
      </Panel>
      {doors.length > 0 && <Client doors={doors} />}
    </>
  )
}
