import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { z } from '#engine/schema/schema.ts'
import { policies } from './index.ts'

test('names and aliases are unique', () => {
  const names = policies.flatMap((policy) => [policy.name, ...policy.aliases.map((alias) => alias.name)])
  assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted())
})

test('a policy is called as its file is, and every file is in the registry', () => {
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  for (const section of ['traffic', 'frontend']) {
    const entries = readdirSync(new URL(section, import.meta.url)).filter((entry) => !entry.endsWith('.test.ts'))
    const own = policies.filter((policy) => policy.section === section).map(({ name }) => kebab(name))
    // What is too long for one file has a folder beside it.
    const files = entries.filter((entry) => entry.endsWith('.ts'))
    const folders = entries.filter((entry) => !entry.endsWith('.ts'))
    assert.deepEqual(files.toSorted(), own.map((name) => `${name}.ts`).toSorted())
    assert.deepEqual(
      folders.filter((folder) => !own.includes(folder)),
      []
    )
  }
})

test('every schema can be written as JSON Schema, in the form that users write', () => {
  for (const policy of policies) {
    for (const schema of [policy.schema, ...policy.aliases.flatMap((alias) => alias.schema ?? [])]) {
      assert.ok(z.toJSONSchema(schema, { io: 'input' }))
    }
  }
})

test('policies that name a host come after general rules, and those that end the exchange come last', () => {
  const order = policies.map((policy) => policy.name)
  assert.deepEqual(order.slice(-4), ['hostRewrite', 'urlRewrite', 'requestRedirect', 'directResponse'])
})
