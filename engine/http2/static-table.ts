/** The static table of HPACK: RFC 7541 Appendix A. */
import { Field } from './field.ts'

/** In order of their indexes, the first is 1; "name=value" or a name alone. */
const ENTRIES =
  ':authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|' +
  ':status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|' +
  'accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|' +
  'content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type|' +
  'cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|' +
  'last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|' +
  'server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate'

/** By index, from 1 on. */
export const STATIC_TABLE: readonly Field[] = ['', ...ENTRIES.split('|')].map((entry) => {
  const [name = '', value = ''] = entry.split('=')
  return new Field(name, value)
})

/** The first index of the dynamic table. */
export const DYNAMIC_FIRST = STATIC_TABLE.length

/** Lowest index of a name. */
export const STATIC_NAMES: ReadonlyMap<string, number> = new Map(
  STATIC_TABLE.map((field, index) => [field.name, index] as const)
    .slice(1)
    .reverse()
)

/** Index of a whole field, by "name: value". */
export const STATIC_FIELDS: ReadonlyMap<string, number> = new Map(
  STATIC_TABLE.map((field, index) => [`${field.name}: ${field.value}`, index] as const).slice(1)
)
