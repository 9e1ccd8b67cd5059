/** Carries out what keyboard.ts makes of the keys. */
import { isPaused } from '#engine/ui/api/poll.ts'
import { PAGES } from '#engine/ui/pages/index.ts'
import { isHelpOpen } from './help.tsx'
import { type Action, NO_CHORD, press } from './keyboard.ts'
import { hrefOf, navigate } from './router.ts'
import { isMenuOpen } from './shell.tsx'

/** The field that "/" goes to has this attribute. */
const SEARCH = '[data-search]'

export function startKeys(): void {
  let state = NO_CHORD
  document.addEventListener('keydown', (event) => {
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey
    const step = press(state, { key: event.key, isTyping: isTyping(event.target), hasModifier }, event.timeStamp)
    state = step.state
    if (step.action !== null && carryOut(step.action)) event.preventDefault()
  })
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot !== null
}

/** False: the key is the browser's. */
function carryOut(action: Action): boolean {
  if (action.kind === 'go') {
    const page = PAGES.find(({ key }) => key === action.key)
    if (page !== undefined) navigate(hrefOf([page.path]))
    return page !== undefined
  }
  if (action.kind === 'search') {
    const field = document.querySelector<HTMLElement>(SEARCH)
    field?.focus()
    return field !== null
  }
  if (action.kind === 'help') isHelpOpen.value = true
  if (action.kind === 'pause') isPaused.value = !isPaused.value
  if (action.kind === 'close') return close()
  return true
}

function close(): boolean {
  isMenuOpen.value = false
  // Dialogs close by themselves.
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  return false
}
