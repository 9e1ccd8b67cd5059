import assert from 'node:assert/strict'
import { test } from 'node:test'
import { good } from '#engine/standalone/testing/fakes.ts'

test('ports of llm and mcp say what becomes of paths and header names, as listeners do', () => {
  const settings = 'paths: { mergeSlashes: true }, headersWithUnderscores: keep'
  const models = 'models: [{ name: "*", provider: openAI, params: { apiKey: k } }]'
  const targets = 'targets: [{ name: a, mcp: { host: "http://localhost:1/mcp" } }]'
  const { binds } = good(`llm: { ${models}, ${settings} }\nmcp: { ${targets}, ${settings} }`)
  const rules = binds.flatMap(({ listeners }) => listeners).map(({ requests }) => requests)
  assert.equal(rules.length, 2)
  for (const requests of rules) {
    assert.equal(requests?.headersWithUnderscores, 'keep')
    assert.equal(requests.paths.mergeSlashes, true)
  }
})
