/** The file of the configuration: what it says, another text in its place, and those that were there before. */

import { jsonReply, type Reply } from '#engine/admin/server.ts'
import { CONFIG_TEXT_BYTES_MAX } from '#engine/contract/config-text.ts'
import { z } from '#engine/schema/schema.ts'
import { type CheckedText, errorText } from './check.ts'
import { type Call, type Operation, refusal } from './operation.ts'

export interface AdminTexts {
  /** Absent: the configuration comes from a controller. */
  readonly texts?: ConfigTexts
}

export interface ConfigTexts {
  shown(): ShownText
  /** Puts `text` in the place of the one with `textHash`, and in force. */
  apply(text: string, textHash: string): Promise<Applied>
  /** The newest first. */
  versions(): readonly TextVersion[]
  /** Null: there is no such version. */
  version(id: string): string | null
}

export interface ShownText {
  /** Its path, or what stands for it. */
  readonly file: string
  /** Null: it cannot be shown. */
  readonly text: string | null
  readonly textHash: string | null
  readonly isWritable: boolean
  /** Why it is not; null: it is. */
  readonly why: string | null
}

export interface TextVersion {
  readonly id: string
  readonly replacedAt: string
  readonly bytes: number
}

/** Unless it is `applied`, the file is as it was. */
export type Applied =
  | { readonly kind: 'applied'; readonly textHash: string; readonly hash: string; readonly warnings: readonly string[] }
  /** The file says something else than the caller knows. */
  | { readonly kind: 'changed' }
  /** It has a mask of no secret of the file, or of a version. */
  | { readonly kind: 'unknownMask' }
  | { readonly kind: 'wrong'; readonly errors: CheckedText['errors'] }
  | { readonly kind: 'notWritable'; readonly why: string }
  /** It has no mistakes, and cannot run. */
  | { readonly kind: 'notInForce'; readonly why: string }

/** A text in JSON, where each character may take six. */
const BODY_BYTES_MAX = 2 * CONFIG_TEXT_BYTES_MAX
/** Of the mistakes, in one message. */
const SHOWN_ERRORS = 5

const TAG = 'Gateway'
const REMOTE = 'the configuration comes from a controller: change its resources'

const textHash = () => z.string().describe('SHA-256 of the bytes of the file, in hex: what the caller has read.')
const shownSchema = () =>
  z.strictObject({
    file: z.string(),
    text: z
      .string()
      .nullable()
      .describe('As it is written; <secret-...> stands for what is secret in it, and may be sent back.'),
    textHash: z.string().nullable(),
    isWritable: z.boolean(),
    why: z.string().nullable().describe('Why it cannot be written here; null: it can.')
  })
const bodySchema = () =>
  z.strictObject({ text: z.string().describe('YAML or JSON, all of the file.'), textHash: textHash() })
const appliedSchema = () =>
  z.strictObject({
    textHash: z.string().describe('Of the file now.'),
    hash: z.string().describe('Of the configuration in force, with all files that it names.'),
    warnings: z.array(z.string())
  })
const versionSchema = () =>
  z.strictObject({ id: z.string(), replacedAt: z.iso.datetime(), bytes: z.int().describe('Of the text.') })

const PATH = '/configuration/versions'
const ID = { about: 'Of a version.', schema: z.string() }
const APPLY_REFUSALS = {
  409: 'The file has changed since it was read, cannot be written, or the configuration cannot be put in force.',
  422: 'The configuration has mistakes.'
}

export function textOperations({ texts }: AdminTexts): readonly Operation[] {
  const having = (answer: (texts: ConfigTexts, call: Call) => Reply | Promise<Reply>) => (call: Call) =>
    texts === undefined ? refusal(409, 'NOT_A_FILE', REMOTE) : answer(texts, call)
  return [
    {
      ...{ id: 'getConfigurationText', method: 'GET', path: '/configuration/text', tag: TAG, role: 'change' },
      summary: 'The file of the configuration as it is written, and whether it can be changed here.',
      replies: { 200: { about: 'Now.', schema: shownSchema() } },
      refusals: { 409: 'The configuration comes from a controller.' },
      answer: having((all) => jsonReply(200, all.shown()))
    },
    {
      ...{ id: 'setConfigurationText', method: 'PUT', path: '/configuration/text', tag: TAG, role: 'change' },
      summary: 'Writes the file of the configuration and puts it in force, both or neither.',
      body: { schema: bodySchema(), bytesMax: BODY_BYTES_MAX },
      replies: { 200: { about: 'It is in force.', schema: appliedSchema() } },
      refusals: APPLY_REFUSALS,
      answer: having(async (all, { body }) => {
        const read = bodySchema().safeParse(body)
        if (!read.success)
          return refusal(400, 'INVALID', 'the body must be {"text": "binds: ...", "textHash": "..."}', 'text')
        return await applied(all, read.data.text, read.data.textHash)
      })
    },
    {
      ...{ id: 'listConfigurationVersions', method: 'GET', path: PATH, tag: TAG, role: 'change' },
      summary: 'What the file of the configuration said before it was changed here, the newest first.',
      replies: { 200: { about: 'All that are kept.', schema: z.strictObject({ versions: z.array(versionSchema()) }) } },
      refusals: { 409: 'The configuration comes from a controller.' },
      answer: having((all) => jsonReply(200, { versions: all.versions() }))
    },
    {
      ...{ id: 'getConfigurationVersion', method: 'GET', path: `${PATH}/{id}`, tag: TAG, role: 'change' },
      summary: 'One of them.',
      names: { id: ID },
      replies: { 200: { about: 'As it was written.', schema: z.strictObject({ id: z.string(), text: z.string() }) } },
      refusals: { 404: 'There is no such version.', 409: 'The configuration comes from a controller.' },
      answer: having((all, { names: { id = '' } }) => {
        const text = all.version(id)
        return text === null ? NO_VERSION : jsonReply(200, { id, text })
      })
    },
    {
      ...{ id: 'restoreConfigurationVersion', method: 'POST', path: `${PATH}/{id}/restore`, tag: TAG, role: 'change' },
      summary: 'Puts one of them in place of what the file says, and in force.',
      names: { id: ID },
      body: { schema: z.strictObject({ textHash: textHash() }), bytesMax: 4096 },
      replies: { 200: { about: 'It is in force.', schema: appliedSchema() } },
      refusals: { 404: 'There is no such version.', ...APPLY_REFUSALS },
      answer: having(async (all, { names: { id = '' }, body }) => {
        const read = z.strictObject({ textHash: textHash() }).safeParse(body)
        if (!read.success) return refusal(400, 'INVALID', 'the body must be {"textHash": "..."}', 'textHash')
        const text = all.version(id)
        return text === null ? NO_VERSION : await applied(all, text, read.data.textHash)
      })
    }
  ]
}

const NO_VERSION = refusal(404, 'NOT_FOUND', 'there is no such version; GET /api/v1/configuration/versions lists all')

async function applied(texts: ConfigTexts, text: string, hash: string): Promise<Reply> {
  const found = await texts.apply(text, hash)
  switch (found.kind) {
    case 'applied': {
      const { kind: _, ...answer } = found
      return jsonReply(200, answer)
    }
    case 'changed':
      return refusal(409, 'CHANGED', 'the file has changed since it was read: read it again', 'textHash')
    case 'unknownMask':
      return refusal(422, 'INVALID', 'a <secret-...> is of no secret that the file has or had: write it anew', 'text')
    case 'notWritable':
      return refusal(409, 'NOT_WRITABLE', `the file cannot be written: ${found.why}`)
    case 'notInForce':
      return refusal(409, 'NOT_IN_FORCE', `nothing has changed: ${found.why}`)
    case 'wrong':
      return refusal(422, 'INVALID', wrongText(found.errors), 'text')
  }
}

function wrongText(errors: CheckedText['errors']): string {
  const shown = errors.slice(0, SHOWN_ERRORS).map(errorText).join('\n')
  const more = errors.length - SHOWN_ERRORS
  return more > 0 ? `${shown}\nand ${more} more: POST /api/v1/configuration/check lists all` : shown
}
