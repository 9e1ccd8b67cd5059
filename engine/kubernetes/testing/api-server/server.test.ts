import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { EXCHANGES, runExchanges } from './exchanges.ts'
import { ApiServerDouble } from './server.ts'

test('the double answers what a real API server answers', async (t) => {
  const server = new ApiServerDouble()
  await server.start()
  server.tokens.set('token-of-admin', { username: 'admin', uid: '1' })
  server.tokens.set('token-of-nobody', { username: 'nobody', uid: '2' })
  const client = new KubernetesClient(server.connection(() => 'token-of-admin'))
  t.after(async () => {
    client.close()
    await server.stop()
  })
  const results = await runExchanges(client)
  assert.deepEqual(
    results.filter(({ why }) => why !== null),
    []
  )
  assert.equal(results.length, EXCHANGES.length)
})
