/** Streams that break, and that another provider goes on with: the client reads one answer. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { BREAKS, CLIENTS, ERROR_EVENTS, PROVIDERS, type Provider, pair, textOf, WHOLE } from './continued.fixture.ts'

for (const from of Object.keys(PROVIDERS) as Provider[]) {
  for (const client of Object.keys(CLIENTS) as ClientFormat[]) {
    test(`from ${from} to a client of ${client}: one answer, wherever and however it breaks`, async (t) => {
      const [path, request] = CLIENTS[client]
      const all = PROVIDERS[from]
      for (const [what, breakOff] of Object.entries(BREAKS)) {
        for (let count = 1; count <= all.length; count++) {
          const { ask, second } = await pair(t, from, all.slice(0, count), (r) => breakOff(r, ERROR_EVENTS[from]))
          const answer = await ask(path, client === 'gemini' ? request : { model: 'm', stream: true, ...request })
          const stream = await answer.text()
          const where = `${what} behind ${count} events: ${stream}`
          equal(answer.status, 200, where)
          equal(textOf(client, stream), WHOLE, where)
          equal(second.requests.length, 1, where)
        }
      }
    })
  }
}
