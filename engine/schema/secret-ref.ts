/** How policies refer to secrets of the configuration (engine/contract/secrets.ts). */
import { name, tinyString, z } from './schema.ts'

/** Labels of Kubernetes: at most 63 characters, beside a prefix that is a domain. */
const LABEL_CHARS_MAX = 317
const LABELS_MAX = 64

/** LocalObjectReference. `entries`: what the secret is to have, for descriptions. */
export const secretRef = (entries: string) =>
  z.strictObject({ name: name().describe('Of one of the secrets at the top.') }).describe(`A secret with ${entries}.`)

const labelName = () => z.string().min(1).max(LABEL_CHARS_MAX)

export const labels = () =>
  z
    .record(labelName(), z.union([tinyString(), z.literal('')]))
    .refine((all) => Object.keys(all).length <= LABELS_MAX, `must have at most ${LABELS_MAX} labels`)

/** SecretSelector. */
export const secretSelector = () =>
  z
    .strictObject({
      matchLabels: labels()
        .refine((all) => Object.keys(all).length > 0, 'must have a label: every secret has all of none')
        .describe('All of these labels.')
    })
    .describe('All secrets at the top with these labels.')
