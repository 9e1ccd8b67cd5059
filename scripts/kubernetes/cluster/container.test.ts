import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { environmentOf, filesOf } from './container.ts'
import type { Pod } from './kinds.ts'

const object = (kind: string, data: Readonly<Record<string, string>>): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'settings', namespace: 'demo' },
  data
})
const known = new Map([
  ['ConfigMap', object('ConfigMap', { level: 'info', other: 'x' })],
  ['Secret', object('Secret', { password: Buffer.from('p').toString('base64') })]
])
const client = {
  async get({ kind }: ObjectKind, namespace: string, name: string) {
    return namespace === 'demo' && name === 'settings' ? (known.get(kind) ?? null) : null
  }
} as unknown as KubernetesClient

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'demo', labels: { app: 'web' } },
  spec: { containers: [], nodeName: 'node-1' }
}

test('variables come from fields, keys and those before them', async () => {
  const env = [
    { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
    { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'settings', key: 'password' } } },
    { name: 'NONE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'none', optional: true } } },
    { name: 'TEXT', value: '$(NAME)@$(IP) $(LATER)' },
    { name: 'LATER', value: '1' }
  ]
  assert.deepEqual(await environmentOf(client, pod, { name: 'c', image: 'i', env }, '10.0.0.1'), {
    NAME: 'web-1',
    APP: 'web',
    IP: '10.0.0.1',
    PASSWORD: 'p',
    TEXT: 'web-1@10.0.0.1 $(LATER)',
    LATER: '1'
  })
})

test('a variable that has to have a value and has none is an error', async () => {
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'settings', key: 'none' } } }]
  await assert.rejects(environmentOf(client, pod, { name: 'c', image: 'i', env }, ''), /variable A of Pod web-1/)
})

test('volumes have the keys that are chosen, at their paths', async () => {
  const projected = {
    sources: [
      { configMap: { name: 'settings', items: [{ key: 'level', path: 'log/level' }] } },
      { secret: { name: 'settings' } }
    ]
  }
  const { files } = await filesOf(client, pod, { projected })
  assert.deepEqual(
    [...files].map(([path, content]) => [path, content.toString()]),
    [
      ['log/level', 'info'],
      ['password', 'p']
    ]
  )
  await assert.rejects(filesOf(client, pod, { secret: { secretName: 'none' } }), /no Secret none yet/)
})
