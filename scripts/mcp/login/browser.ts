/** The browser part of a login at Keycloak by an HTTP client: redirects, cookies, the forms for name and consent. */
import { PERSON } from '#engine/testing/keycloak.ts'

const STEPS_MAX = 12

/** The parameters that `callback` is called with. */
export async function signIn(start: URL, callback: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  let next: { readonly url: URL; readonly form: URLSearchParams | null } = { url: start, form: null }
  for (let i = 0; i < STEPS_MAX; i++) {
    const { url, form } = next
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const request = { headers: { cookie }, redirect: 'manual' } as const
    const answer = await fetch(url, form === null ? request : { ...request, method: 'POST', body: form })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = answer.headers.get('location')
    const page = await answer.text()
    if (location !== null) {
      const to = new URL(location, url)
      if (to.href.startsWith(callback)) return to.searchParams
      next = { url: to, form: null }
    } else next = { url: new URL(actionOf(page, answer.status), url), form: fieldsOf(page) }
  }
  throw new Error('the login does not come to an end')
}

function actionOf(page: string, status: number): string {
  const [, action] = /<form[^>]*\saction="([^"]+)"/.exec(page) ?? []
  if (action !== undefined) return action.replaceAll('&amp;', '&')
  const [, message = ''] = /<p class="instruction">([^<]*)/.exec(page) ?? []
  throw new Error(`the login has no form: HTTP ${status} ${message}`)
}

/** What is hidden in it, and what a person says: a name and a password, or yes. */
function fieldsOf(page: string): URLSearchParams {
  const fields = new URLSearchParams()
  for (const [input] of page.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const [, name] = /\sname="([^"]*)"/.exec(input) ?? []
    const [, value = ''] = /\svalue="([^"]*)"/.exec(input) ?? []
    if (name !== undefined) fields.set(name, value)
  }
  if (/name="password"/.test(page)) {
    for (const [name, value] of Object.entries(PERSON)) fields.set(name, value)
  } else fields.set('accept', 'Yes')
  return fields
}
