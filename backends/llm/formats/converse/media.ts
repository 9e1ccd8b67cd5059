/** Formats of media as Converse calls them, and their media types. Source: the enums of the Bedrock runtime API. */
import type { MediaPart } from '#backends/llm/conversation.ts'

type Kind = MediaPart['kind']
type Table = readonly (readonly [format: string, mediaType: string])[]

const IMAGE: Table = ['png', 'jpeg', 'gif', 'webp'].map((format) => [format, `image/${format}`])
const AUDIO_FORMATS = 'aac flac m4a mka mkv mp3 mp4 mpeg mpga ogg opus pcm wav webm x-aac'
const AUDIO: Table = AUDIO_FORMATS.split(' ').map((format) => [format, `audio/${format}`])
const VIDEO: Table = [
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['mkv', 'video/x-matroska'],
  ['webm', 'video/webm'],
  ['flv', 'video/x-flv'],
  ['mpeg', 'video/mpeg'],
  ['mpg', 'video/mpg'],
  ['wmv', 'video/x-ms-wmv'],
  ['three_gp', 'video/3gpp']
]
const DOCUMENT: Table = [
  ['pdf', 'application/pdf'],
  ['csv', 'text/csv'],
  ['doc', 'application/msword'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xls', 'application/vnd.ms-excel'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['html', 'text/html'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown']
]
/** Other names of the same. */
const ALIASES: { readonly [kind in Kind]: Table } = {
  image: [['jpeg', 'image/jpg']],
  audio: [
    ['wav', 'audio/x-wav'],
    ['wav', 'audio/wave'],
    ['m4a', 'audio/x-m4a'],
    ['flac', 'audio/x-flac']
  ],
  video: [
    ['flv', 'video/flv'],
    ['wmv', 'video/wmv'],
    ['mov', 'video/mov']
  ],
  document: [['md', 'text/x-markdown']]
}
const TABLES: { readonly [kind in Kind]: Table } = { image: IMAGE, audio: AUDIO, video: VIDEO, document: DOCUMENT }

const KINDS: readonly Kind[] = ['image', 'audio', 'video', 'document']
const entries = (pick: (kind: Kind) => Table): Map<string, string>[] =>
  KINDS.map((kind) => new Map(pick(kind).map(([format, type]) => [type, format])))
const FORMATS = entries((kind) => [...ALIASES[kind], ...TABLES[kind]])
const TYPES = KINDS.map((kind) => new Map(TABLES[kind]))

/** Converse's word for a media type; null when it has none. */
export function formatOf(kind: Kind, mediaType: string): string | null {
  return FORMATS[KINDS.indexOf(kind)]!.get(mediaType) ?? null
}

/** Null when the word is not known. */
export function mediaTypeOf(kind: Kind, format: string): string | null {
  return TYPES[KINDS.indexOf(kind)]!.get(format) ?? null
}
