/** Loads modules that users name: the one place with an import that lint cannot follow. */
export const load = <A>(href: string): Promise<A> => import(href) as Promise<A>
