/** That a model is not served, by the name that the client has for it. */

const NAME_CHARS_MAX = 128
/** Controls, line ends, and marks that turn or hide text: they mean something to terminals, and nothing in a name. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu

/** `model` is any text of a client: it is bounded, and quoted as JSON quotes. */
export function noSuchModel(model: string): string {
  const isLong = model.length > NAME_CHARS_MAX
  const name = model.slice(0, NAME_CHARS_MAX).toWellFormed().replace(UNSEEN, '?')
  return `there is no such model here: ${JSON.stringify(isLong ? `${name}...` : name)}`
}
