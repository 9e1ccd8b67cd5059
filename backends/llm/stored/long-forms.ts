/** Long forms with files for what providers keep: what of them has to be known before the file goes on. */
import { FormatError } from '#backends/llm/formats/format.ts'
import { type FormNeeds, FormTooLong, tooLate } from '#backends/llm/uploads/form-needs.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isBatchInput } from './body.ts'
import { storedAt } from './operation.ts'
import { kindOfField } from './references.ts'

const PURPOSE = 'purpose'

/** Whose files are long. */
const COLLECTIONS: ReadonlySet<string> = new Set(['files', 'uploads', 'skills', 'containers'])

/** Null: it is kept whole. */
export function storedForm(ex: Exchange): FormNeeds | null {
  const at = storedAt(ex)
  if (at === null || !COLLECTIONS.has(at.api.collection)) return null
  return at.api.collection === 'files' && at.api.format === 'completions' ? FILE : PARTS
}

const refuseIds = (name: string): void => {
  if (kindOfField(name) !== null) throw tooLate(name)
}

/** Nothing but names of objects is read in it. */
const PARTS: FormNeeds = {
  ahead: [],
  mayPass: () => true,
  overlong() {},
  late(name) {
    refuseIds(name)
    if (name === PURPOSE) throw tooLate(name)
    return false
  },
  lateText() {}
}

/** A file that is the input of a batch is read line by line (body.ts), and so has to be here as a whole. */
const FILE: FormNeeds = {
  ahead: [PURPOSE],
  mayPass: (texts) => texts.has(PURPOSE) && !isBatchInput(texts.get(PURPOSE)),
  overlong(texts) {
    if (isBatchInput(texts.get(PURPOSE))) throw new FormTooLong('file', 'the lines of a batch must be read')
  },
  late(name) {
    refuseIds(name)
    return name === PURPOSE
  },
  lateText(_name, purpose) {
    // Its end is missing, so that the provider keeps nothing of it.
    if (isBatchInput(purpose))
      throw new FormatError(PURPOSE, 'must be ahead of a long file that is the input of a batch')
  }
}
