/** What a configuration of 1,000 routes costs the main thread and a worker: first load, and one changed route. */

import type { Bench } from 'tinybench'
import { backends } from '#backends/index.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { applyDelta, encodeDelta } from '#engine/ir/snapshot-delta.ts'
import { References } from '#engine/standalone/expand.ts'
import { loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'
import { readSource } from '#engine/standalone/source.ts'
import { readDocument } from '#engine/standalone/source-document.ts'
import { runtimeBuilder } from '#engine/testing/runtimes.ts'
import { policies } from '#policies/index.ts'

/** Tests, which want to know only whether it runs, ask for fewer. */
const ROUTES = Number(process.env.WEIR_BENCH_ROUTES ?? 1000)

export function register(bench: Bench): void {
  const texts = ['1', '2'].map(fileWith)
  const next = alternate(texts)
  bench.add('config: read 1,000 routes', () => void readSource(next(), {}))
  bench.add('config: read 1,000 routes, the thorough way', () => {
    const text = next()
    readDocument(text, new References(text), {})
  })
  bench.add('config: load one changed route of 1,000', reload(next))
  const [one, two] = texts.map((text) => load(text, null))
  const both = [one!, load(texts[1]!, one!)].map((draft, i) => ({ ...draft, version: i, hash: '', acceptedAt: '' }))
  bench.add('config: build 1,000 routes', () => runtimeBuilder()({ ...two!, version: 0, hash: '', acceptedAt: '' }))
  bench.add('config: send and build one changed route of 1,000', rebuild(both))
}

function alternate<T>(items: readonly T[]): () => T {
  let turn = 0
  return () => items[turn++ % items.length]!
}

function reload(next: () => string): () => void {
  const build = runtimeBuilder()
  let before: SnapshotDraft | null = null
  return () => {
    before = load(next(), before, (draft) => void build({ ...draft, version: 0, hash: '', acceptedAt: '' }))
  }
}

/** What a worker does with one of two snapshots that differ in one route. */
function rebuild(snapshots: readonly Snapshot[]): () => void {
  const build = runtimeBuilder()
  let sent: Snapshot | null = null
  let held: Snapshot | null = null
  const next = alternate(snapshots)
  return () => {
    const snapshot = next()
    held = applyDelta(held, structuredClone(encodeDelta(sent, snapshot)))
    sent = snapshot
    build(held)
  }
}

function load(text: string, before: SnapshotDraft | null, check: (draft: SnapshotDraft) => void = () => {}) {
  const options = { file: 'bench.yaml', env: {}, policies, backends, processors: 2, before }
  const result = loadConfig(text, {
    ...options,
    check: (draft) => {
      check(draft)
      return []
    }
  })
  if (!result.ok) throw new Error(JSON.stringify(result.errors[0]))
  return result.snapshot
}

/** 0.7 MB: each route has a match with an expression and all policies that may stand together. */
function fileWith(mark: string): string {
  const routes = Array.from({ length: ROUTES }, (_, i) => {
    const changed = i === ROUTES / 2 ? mark : ''
    return `
    - name: r${i}
      matches: [{ path: { pathPrefix: /svc${i} }, headers: [{ name: x-a, value: { regex: "v[0-9]+${i}" } }] }]
      policies:
        authorization:
          rules:
          - jwt.sub == "user${i}" && "admin" in jwt.roles
          - { deny: 'request.headers["x-bad"] == "${i}"' }
          - { require: 'source.address != "10.0.0.${i}"' }
        requestHeaderModifier: { set: { x-route: 'route ${i}${changed}', x-b: b, x-c: c }, add: { x-d: d } }
        responseHeaderModifier: { remove: [server], set: { x-e: e } }
        timeouts: { request: 5s, backendRequest: 2s }
        hostRewrite: None
        urlRewrite: { path: { prefix: /x${i} } }
      backends: [{ host: '127.0.0.1:9101' }]`
  })
  return `binds:\n- port: 3000\n  listeners:\n  - routes:${routes.join('')}\n`
}
