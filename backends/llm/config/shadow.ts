/** Copies of calls for another model: schema, and its form in the Snapshot. */
import type { AiProvider, AiShadow } from '#backends/llm/config/snapshot.ts'
import { entriesOf, objectOf, type Raw } from '#engine/schema/placed.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'

const PERCENT_PLACES = 1_000

const percent = () =>
  z
    .number()
    .gt(0, 'must be more than 0')
    .max(100, 'must be at most 100')
    .refine((value) => Number.isInteger(value * PERCENT_PLACES), 'may have three digits behind the point')

/** `to`: the field that names who gets the copies. */
export const shadow = <S extends Record<string, z.ZodType>>(to: S) =>
  z
    .strictObject({ ...to, percent: percent().describe('Of the calls of chat; decimals are allowed.') })
    .describe('Another model gets copies of calls; its answers are measured and thrown away.')

export const shadowOf = (file: { readonly percent: number }, provider: AiProvider): AiShadow => ({
  share: file.percent / 100,
  provider
})

const namesIn = ({ groups }: Raw): unknown[] =>
  entriesOf(groups, []).flatMap(({ raw }) => entriesOf(raw.providers, []).map(({ raw: { name } }) => name))

/** Of an `ai` backend: the shadow is one of its providers. */
export const shadowHasName = () =>
  together<Raw>(
    [],
    ({ value, issues }) => {
      const { provider } = objectOf(value.shadow)
      if (provider === undefined || namesIn(value).includes(provider)) return
      const message = `there is no provider ${JSON.stringify(provider)} in groups: they are the ones that have names`
      issues.push({ code: 'custom', path: ['shadow', 'provider'], message, input: provider })
    },
    ONLY_FILES
  )
