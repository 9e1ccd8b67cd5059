/** Runtimes as one worker builds them, one after the other: nothing is dialled, and nothing recorded. */
import { backends } from '#backends/index.ts'
import { buildRuntime, type Runtime, type RuntimeDeps } from '#engine/build/runtime.ts'
import { NO_CHILDREN } from '#engine/contract/children.ts'
import { NO_CALLS } from '#engine/contract/in-process.ts'
import { NO_REVOCATIONS } from '#engine/contract/revocations.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { policies } from '#policies/index.ts'
import { fakeUpstream } from './upstream.ts'

/** \`own\`: in place of what is usual. */
export function runtimeBuilder(own: Partial<RuntimeDeps> = {}) {
  const recorder = { record() {} }
  const usual: RuntimeDeps = {
    policies,
    services: { ...NO_SERVICES, state: newStateStore() },
    backends,
    upstream: fakeUpstream(),
    recorderFor: () => recorder,
    tcpRecorderFor: () => recorder,
    mirrorRecorderFor: () => ({ record() {}, dropped() {} }),
    fail() {},
    reply() {},
    mirror() {},
    inProcess: NO_CALLS,
    children: NO_CHILDREN,
    secret: new Uint8Array(32),
    revocations: NO_REVOCATIONS
  }
  return (snapshot: Snapshot, more: Partial<RuntimeDeps> = {}): Runtime =>
    buildRuntime(snapshot, { ...usual, ...own, ...more })
}
