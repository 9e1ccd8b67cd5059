/**
 * What stands around a number: a label that is glued to it, or something of which it is a part. `before` and `after`
 * are as Numbers has them.
 */

/** How sure it is by itself that it is what it looks like: by a check digit or its form, or only by its length. */
export type Strength = 'strong' | 'weak'

const GLUED = /(?:^|[^A-Za-z0-9_])([A-Za-z_]+)$/
const LETTER_END = /[A-Za-z_]$/
/** The end of a line, or a tab, in text that was taken out of JSON or of a program as it stood there. */
const ESCAPE = /\\[nrt]$/
/** A word with another character than hexadecimal digits. */
const WORD = /[g-z]/i
const LABEL =
  /(?:^|_)(?:card|cc|pan|ccn|acc|ssn|ss|sin|nas|tin|itin|social|tel|telefon|telephone|phone|ph|fon|fone|mob|mobile|mobil|cell|fax|call|sms|no|nr|num|number|nummer|numero|id)_*$/i
const FRACTION = /[0-9]\.$/
const MONEY = /\p{Sc} ?$/u
/** Things that are numbered in the same way. */
const OTHER =
  /(?<![\p{L}])(?:isbn(?:-1[03])?|issn|ean|upc|gtin|sku|imei|asin|doi|pmid|order|invoice|ticket|issue|tracking|shipment|parcel|batch|lot|serial|build|commit|revision|version|timestamp|epoch|port|pid|tid|bytes|size|offset|lines?|rows?|count|total|seq|sequence|sum|hash|crc|nonce|block|asset|part)[ _-]?(?:no|nr|num|number|id)?[\s"'.:#=([-]{0,4}$/iu

/** Whether a number may begin here. */
export function mayBegin(before: string, strength: Strength): boolean {
  if (LETTER_END.test(before) && !ESCAPE.test(before)) {
    const glued = GLUED.exec(before)?.[1]
    // Behind other digits it is a part of an id.
    if (glued === undefined) return false
    return LABEL.test(glued) || (strength === 'strong' && isWord(glued))
  }
  return strength === 'strong' || !(FRACTION.test(before) || MONEY.test(before) || isOfThings(before))
}

/** Whether a word before it says that it numbers things. */
export const isOfThings = (before: string): boolean => OTHER.test(before)

/** Of "my_card" the last one; of "card_" that it is a word already. */
function isWord(glued: string): boolean {
  const last = glued.slice(glued.lastIndexOf('_') + 1)
  return last === '' || (last.length > 1 && WORD.test(last))
}

/** Whether a number may end here. */
export function mayEnd(after: string, strength: Strength): boolean {
  return after === '' || (strength === 'strong' && (after.startsWith('_') || WORD.test(after)))
}
