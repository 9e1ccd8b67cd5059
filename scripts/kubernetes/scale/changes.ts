/** Changes at a steady rate, and how long some of them take until the port answers by them. */
import { setTimeout as after } from 'node:timers/promises'
import { Client } from 'undici'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { pathOf } from '#engine/kubernetes/client/client.ts'
import { KINDS, type ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { hostOf, NAMESPACE, rulesOf, VERSION_FIELD } from './objects.ts'

const PROBE_MS_MAX = 60_000
const PAUSE_MS = 5
const PATCH_ATTEMPTS_MAX = 3

/** Merges `fields` into an object. */
export async function patch(client: KubernetesClient, kind: ObjectKind, name: string, fields: unknown): Promise<void> {
  const path = pathOf(kind, NAMESPACE, name)
  for (let attempt = 1; ; attempt++) {
    try {
      await client.ask({ method: 'PATCH', path, body: fields, type: 'application/merge-patch+json' })
      return
    } catch (error) {
      // A connection that was kept may be closed at that moment; to patch twice is to patch once.
      if (error instanceof ApiError || attempt === PATCH_ATTEMPTS_MAX) throw error
    }
  }
}

/** Milliseconds from sending the change of a route until the gateway at `origin` has answered by it. */
export async function measureRoute(
  client: KubernetesClient,
  origin: string,
  route: number,
  version: number,
  services: number
): Promise<number> {
  const probe = new Client(origin)
  const headers = { host: hostOf(route) }
  try {
    // Before the clock runs: the connection.
    await (await probe.request({ method: 'GET', path: '/', headers })).body.dump()
    const begun = performance.now()
    const isPatched = patch(client, KINDS.HTTPRoute, `route-${route}`, {
      spec: { rules: rulesOf(route, version, services) }
    })
    for (;;) {
      const { headers: answered, body } = await probe.request({ method: 'GET', path: '/', headers })
      await body.dump()
      const ms = performance.now() - begun
      if (answered[VERSION_FIELD] === `${version}`) {
        await isPatched
        return ms
      }
      // Without a pause, slow changes would be slowed down by those who ask for them.
      await after(PAUSE_MS)
      if (ms > PROBE_MS_MAX) throw new Error(`route ${route}: no answer by version ${version}`)
    }
  } finally {
    await probe.close()
  }
}

/** Calls `change` with 0, 1, 2... so many times a second, whether or not those before have ended. */
export async function steadily(
  perSecond: number,
  count: number,
  change: (number: number) => Promise<void>
): Promise<void> {
  const begun = performance.now()
  const underWay: Promise<void>[] = []
  for (let number = 0; number < count; number++) {
    const wait = begun + (number * 1000) / perSecond - performance.now()
    if (wait > 0) await after(wait)
    underWay.push(change(number))
  }
  await Promise.all(underWay)
}

/** By the nearest rank. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Runs `work` for 0 to count - 1, `width` at a time. */
export async function inParallel(
  count: number,
  width: number,
  work: (number: number) => Promise<unknown>
): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: width }, lane))
}
