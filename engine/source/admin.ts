/** `config.admin`: who may use the admin port, and for what (docs/admin-api.md#who-may). */
import type { AdminSpec } from '#engine/ir/process.ts'
import { secret } from '#engine/kit/secret.ts'
import { hostname } from '#engine/schema/net.ts'
import { list, says, z } from '#engine/schema/schema.ts'

const TOKENS_MAX = 64
const HOSTS_MAX = 16
/** Visible ASCII without a colon, which parts it from the token in a browser's question. */
const NAME = /^[\w.@-]{1,64}$/

const token = () =>
  z.strictObject({
    name: z
      .string()
      .regex(NAME, { error: says('must be 1 to 64 letters, digits and "._@-"') })
      .describe('Who has it: what audit lines say.'),
    hash: z
      .string()
      .regex(/^sha256:[0-9A-Fa-f]{64}$/, { error: says('must be "sha256:" and 64 hexadecimal digits') })
      .describe('SHA-256 of the token, at least 16 random bytes: `printf %s "$TOKEN" | sha256sum`.'),
    role: z
      .enum(['see', 'test', 'change'])
      .describe('see: looks. test: asks for work that changes nothing, too. change: changes things, too.')
  })

export const adminSchema = z
  .strictObject({
    tokens: list(token(), 1, TOKENS_MAX)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must have names that differ')
      .refine(
        (all) => new Set(all.map(({ hash }) => hash.toLowerCase())).size === all.length,
        'must be tokens that differ: audit lines could not tell who has used one'
      )
      .describe('Requests must show one of them: `Authorization: Bearer TOKEN`, or what a browser asks for.'),
    hosts: list(
      hostname().refine((name) => !name.includes('*'), 'must be one name, without a star'),
      1,
      HOSTS_MAX
    )
      .optional()
      .describe('Names by which a reverse proxy or a tunnel reaches the port. Default: none but its own address.')
  })
  .describe('Who may use the admin port. Default: everybody on this machine. Needed where it listens beyond.')

export function translateAdmin({ tokens, hosts = [] }: z.output<typeof adminSchema>): AdminSpec {
  const bare = (hash: string) => secret(hash.slice('sha256:'.length).toLowerCase())
  return { hosts, tokens: tokens.map(({ name, hash, role }) => ({ name, hash: bare(hash), role })) }
}
