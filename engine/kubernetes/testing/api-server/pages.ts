/** Lists, in pages of one version. */
import type { ApiCall } from './call.ts'
import { selects } from './selector.ts'
import { type ApiStore, Refusal } from './store.ts'

interface Continuation {
  readonly version: number
  readonly start: number
}

const EXPIRED = 'The provided continue parameter is too old to display a consistent list result.'

/** A page after the first is of the objects of now: tests change nothing between pages, but may compact. */
export function listAnswer(store: ApiStore, { kind, namespace, query }: ApiCall): unknown {
  const selector = query.get('labelSelector') ?? ''
  const all = store.list(kind, namespace).filter(({ metadata }) => selects(selector, metadata.labels))
  const { start, version } = continuationOf(query.get('continue')) ?? { start: 0, version: store.version }
  if (start > 0 && store.since(version) === null) throw new Refusal(410, 'Expired', EXPIRED)
  const limit = Number(query.get('limit') ?? 0) || Infinity
  const items = all.slice(start, start + limit)
  const end = start + items.length
  const next: Continuation = { version, start: end }
  const more = end < all.length ? { continue: Buffer.from(JSON.stringify(next)).toString('base64url') } : {}
  return {
    kind: `${kind.kind}List`,
    apiVersion: kind.apiVersion,
    metadata: { resourceVersion: `${version}`, ...more },
    items
  }
}

function continuationOf(text: string | null): Continuation | null {
  return text === null ? null : (JSON.parse(Buffer.from(text, 'base64url').toString()) as Continuation)
}
