/** Unmodified clients, and requests as they send them, at providers that are as strict as the real ones are. */
import { after, before, describe, test } from 'node:test'
import { claudeCode, claudeCount, codex } from './agents.ts'
import { PROVIDERS, type Providers, startProviders } from './doubles/provider.ts'
import { askFeature, FEATURES } from './features.ts'
import { SDK_LOOPS } from './sdk-loops.ts'

let providers: Providers
before(async () => {
  providers = await startProviders()
})
after(() => providers.close())

/** That count tokens. */
const COUNTERS = ['anthropic', 'gemini', 'openai', 'bedrock']
/** Requests of a provider's own format are the client's affair: they pass as they are. */
const OWN: Readonly<Record<string, RegExp>> = {
  openai: /^(?:chat|responses):/,
  azure: /^(?:chat|responses):/,
  chat: /^chat:/,
  responses: /^responses:/,
  anthropic: /^messages:/,
  'anthropic-new': /^messages:/,
  'vertex-claude': /^messages:/,
  gemini: /^gemini:/,
  'vertex-gemini': /^gemini:/
}

for (const name of Object.keys(PROVIDERS)) {
  const base = (): string => `${providers.base}/${name}`
  describe(`a provider like ${name}`, () => {
    for (const [client, loop] of Object.entries(SDK_LOOPS)) {
      test(`${client}: three turns of tools`, () => loop(base(), false))
      test(`${client}: three turns of tools, streamed`, () => loop(base(), true))
    }
    test('Claude Code: three turns of tools', () => claudeCode(base(), true))
    if (COUNTERS.includes(name)) test('Claude Code: a count', () => claudeCount(base(), false))
    test('Codex: its own tools', () => codex(base(), true))
    for (const feature of FEATURES)
      if (OWN[name]?.test(feature.name) !== true) test(feature.name, () => askFeature(base(), feature))
  })
}
