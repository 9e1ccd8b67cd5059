/** A rejection names the rule that matched and the line of the file where it stands, and nothing that was found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { show } from '#engine/explain/show.ts'
import { explainer } from '#engine/testing/explain.ts'

const FILE = `backends:
  - name: own
    ai:
      provider: { openai: { model: gpt-4o } }
      promptGuard:
        request:
          - regex:
              builtins: [Email]
              matches:
                - canary-a[0-9]
                - canary-b[0-9]
              action: Reject
  - name: around
    ai: { provider: { openai: { model: gpt-4o } } }
    policies:
      ai:
        promptGuard:
          request:
            - regex: { builtins: [Ssn] }
            - regex:
                builtins: [CreditCard, Ssn, Email]
                action: Reject
binds:
  - port: 8080
    listeners:
      - routes:
          - matches: [{ path: { pathPrefix: /own } }]
            policies: { urlRewrite: { path: { prefix: / } } }
            backends: [{ backend: own }]
          - matches: [{ path: { pathPrefix: /around } }]
            policies: { urlRewrite: { path: { prefix: / } } }
            backends: [{ backend: around }]
`

const CASES: readonly (readonly [backend: string, text: string, detail: string])[] = [
  ['own', 'so canary-b7 it is', 'backends.own.promptGuard.request[0].regex.matches[1] (weir.yaml:11:19) rejects it'],
  [
    'own',
    'ask canary@example.com',
    'backends.own.promptGuard.request[0].regex.builtins[0] (weir.yaml:8:26), Email, rejects it'
  ],
  [
    'around',
    'ask canary@example.com',
    'backends.around.promptGuard.request[1].regex.builtins[2] (weir.yaml:21:45), Email, rejects it'
  ]
]

test('the rule of a guard that has rejected, with its place', async () => {
  const explain = explainer(FILE)
  for (const [backend, content, detail] of CASES) {
    // Large bodies are searched by another thread.
    for (const more of ['', 'x '.repeat(20_000)]) {
      const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: more + content }] })
      const found = await explain({ method: 'POST', url: `http://a:8080/${backend}/v1/chat/completions`, body })
      assert.ok(found.outcome.kind === 'answer', JSON.stringify(found.outcome))
      assert.deepEqual([found.outcome.status, found.outcome.detail], [403, detail])
      assert.doesNotMatch(JSON.stringify(found) + show(found), /canary/)
    }
  }
  const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'nothing' }] })
  const passes = await explain({ method: 'POST', url: 'http://a:8080/own/v1/chat/completions', body })
  assert.equal(passes.outcome.kind, 'upstream')
})
