/** How policies refer to secrets of the configuration (engine/contract/secrets.ts). */
import { keywords } from './rule.ts'
import { fullName, map, z } from './schema.ts'
import { inResources } from './spelling.ts'

/** Labels of Kubernetes: at most 63 characters, beside a prefix that is a domain. */
const LABEL_CHARS_MAX = 317
const LABEL_VALUE_CHARS_MAX = 64
const LABELS_MAX = 64

const reference = () => z.strictObject({ name: fullName().describe('Of one of the secrets at the top.') })

/** LocalObjectReference. `entries`: what the secret is to have, for descriptions. */
export const secretRef = (entries: string) =>
  inResources(reference(), 'LocalObjectReference').describe(`A secret with ${entries}.`)

/** The same, where a resource may also name what is no secret: a ConfigMap. */
export const authoritiesRef = (entries: string) =>
  inResources(reference(), 'AuthoritiesReference').describe(`A secret with ${entries}.`)

const labelName = () => z.string().min(1).max(LABEL_CHARS_MAX)

export const labels = () =>
  map(
    labelName(),
    z.string().max(LABEL_VALUE_CHARS_MAX, `must have at most ${LABEL_VALUE_CHARS_MAX} characters`),
    0,
    LABELS_MAX
  )

/** SecretSelector. */
export const secretSelector = () =>
  inResources(plainSelector(), 'SecretSelector').describe('All secrets with these labels.')

/** Without the word by which resources say it. */
export const plainSelector = () =>
  z.strictObject({
    matchLabels: labels()
      .refine((all) => Object.keys(all).length > 0, {
        error: 'must have a label: every secret has all of none',
        params: keywords({ minProperties: 1 })
      })
      .describe('All of these labels.')
  })
