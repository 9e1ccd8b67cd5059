/** The node, and the server that API servers ask for output of containers (`kubectl logs`). */
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import type { ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import { readLog } from './container-log.ts'
import { HOST_ADDRESS } from './network.ts'

/** That of all Pods. */
export const NODE = 'node-1'

const NODE_KIND: ObjectKind = { kind: 'Node', apiVersion: 'v1', plural: 'nodes', isNamespaced: false }
const PORT = 10_250
const LOGS = /^\/containerLogs\/([^/]+)\/([^/]+)\/[^/]+$/

/** `logOf`: path of the file with a Pod's output. */
export async function startNode(
  client: KubernetesClient,
  logOf: (namespace: string, pod: string) => string
): Promise<Server> {
  const metadata = { name: NODE }
  await client.create(NODE_KIND, { apiVersion: 'v1', kind: 'Node', metadata })
  await client.patchStatus(
    NODE_KIND,
    { metadata },
    {
      addresses: [{ type: 'InternalIP', address: HOST_ADDRESS }],
      daemonEndpoints: { kubeletEndpoint: { Port: PORT } }
    }
  )
  const server = createServer(selfSigned([NODE]), (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', `https://${HOST_ADDRESS}`)
    const [, namespace, pod] = LOGS.exec(pathname) ?? []
    if (namespace === undefined || pod === undefined) {
      response.writeHead(404).end()
      return
    }
    const time = searchParams.get('sinceTime')
    const log = readLog(logOf(namespace, pod), time === null ? 0 : Date.parse(time))
    const count = searchParams.get('tailLines')
    response.end(count === null ? log : lastLines(log, Number(count)))
  })
  server.listen(PORT, HOST_ADDRESS)
  await once(server, 'listening')
  return server
}

function lastLines(text: string, count: number): string {
  const lines = text.split('\n').slice(0, -1)
  return lines
    .slice(Math.max(0, lines.length - count))
    .map((line) => `${line}\n`)
    .join('')
}
