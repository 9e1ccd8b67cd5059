/** The controller's own client at a real API server: what the double of npm test answers, it answers too. */
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import type { ApiConnection } from '#engine/kubernetes/client/connection.ts'
import { runExchanges } from '#engine/kubernetes/testing/api-server/exchanges.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

export async function exchangeCases(servers: KubernetesServers): Promise<Judged[]> {
  const client = new KubernetesClient(connectionTo(servers))
  const results = await runExchanges(client)
  client.close()
  return results.map(({ name, why }) => ({ name: `exchange: ${name}`, why }))
}

export const connectionTo = ({ origin, ca }: Pick<KubernetesServers, 'origin' | 'ca'>): ApiConnection => ({
  url: origin,
  namespace: null,
  credentials: { present: () => ({ authorization: 'Bearer token-of-admin', tls: { ca } }), refused() {} }
})
