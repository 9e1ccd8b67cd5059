/** Places in the heads of answers: where the pieces of a file go on, and where a call is. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import type { StoredPath } from './apis.ts'
import { type Seal, sealId } from './seal.ts'

/** Of Google's upload protocol, in the form of fields that its clients read. */
const UPLOAD_URL = 'x-goog-upload-url'
/** They say the same of the provider itself, whose key would be asked for there. */
const PROVIDER_URLS = ['x-goog-upload-control-url', 'x-guploader-uploadid']
const LOCATION = /\/realtime\/calls\/([^/?]+)/

/** `seal` null: ids are the provider's own. */
export function rewriteHead(ex: Exchange, { api }: StoredPath, seal: Seal | null): void {
  const response = ex.response!
  const url = response.get(UPLOAD_URL)
  for (const name of [UPLOAD_URL, ...PROVIDER_URLS]) response.remove(name)
  const next = url === undefined ? null : placeHere(ex, url, seal)
  if (next !== null) response.append('X-Goog-Upload-URL', next)
  const location = response.get('location')
  if (api.collection !== 'realtime/calls' || location === undefined) return
  const id = LOCATION.exec(location)?.[1]
  if (id === undefined) response.remove('location')
  else response.set('Location', `${ex.originalPath}/${seal === null ? id : sealId(id, 'call', seal)}`)
}

/** The same upload at this gateway. Null: the provider's URL names none. Nothing else of it is repeated. */
function placeHere(ex: Exchange, url: string, seal: Seal | null): string | null {
  const id = URL.parse(url)?.searchParams.get('upload_id') ?? null
  if (id === null) return null
  const query = new URLSearchParams({ upload_id: seal === null ? id : sealId(id, 'upload', seal) })
  return `${originOf(ex)}${ex.originalPath}?${query}&upload_protocol=resumable`
}

function originOf({ request, client, authority }: Exchange): string {
  // Or a proxy before the gateway has ended TLS.
  const scheme = request.get('x-forwarded-proto') === 'https' ? 'https' : schemeOf(client)
  return `${scheme}://${authority}`
}

/** Up to the name of the collection, without query. */
export function collectionUrl(ex: Exchange, { api, rest }: StoredPath): string {
  const below = rest.reduce((length, segment) => length + segment.length + 1, 0)
  const { originalPath: path } = ex
  const own = path.slice(0, path.length - below)
  return `${originOf(ex)}${own.endsWith(`/${api.collection}`) ? own : `/v1/${api.collection}`}`
}
