"""What words of other languages mean to a reader: "foreign = English", separated by commas; nothing means "drop it"."""

CHINESE = """
    是的=yes, 是=is, 对的=yes, 对=yes, 没错=yes, 正确=correct, 不正确=incorrect, 不对=incorrect, 错误=wrong,
    错的=wrong, 错=wrong, 不是=not, 而是=but, 而=but, 否=no, 不=not, 没有=not, 没=not, 并非=not, 无法=can not,
    不能=can not, 不确定=not sure, 不知道=unknown, 判断=judge, 确定=determine, 回答=answer, 一致=consistent,
    相符=matches, 符合=matches, 匹配=matches, 吻合=matches, 相同=matches, 对应=corresponds, 蕴含=entails,
    准确=accurate, 不准确=inaccurate, 矛盾=contradicts, 不符=does not match, 更=more, 最=best, 更好=better, 最好=best,
    描述=description, 字幕=caption, 标题=caption, 说明=caption, 视频=video, 片段=segment, 部分=part, 段=segment,
    画面=frame, 答案=answer, 选项=option, 选择=choose, 应选=choose, 选=choose, 我认为=i think, 我觉得=i think,
    应该=should be, 为=is, 因此=therefore, 所以=so, 因为=because, 但=but, 但是=but, 而不是=and not, 第一=first,
    第二=second, 第三=third, 第四=fourth, 前者=the former segment, 后者=the latter segment, 前半=first half,
    后半=second half, 第一个=first one, 第二个=second one, 第三个=third one, 第四个=fourth one, 后面的=second,
    前面的=first, 后一段=second segment, 前一段=first segment, 前一个=first, 后一个=second, 个=, 分数=score,
    评分=score, 得分=score, 打分=score, 分=points, 给=give, 满分=full marks, 两=two, 零=zero, 一=one, 二=two, 三=three,
    的=of, 最终=final, 最佳=best, 正解=answer, 和=and, 或=or, 都=both, 如果=if, 可能=maybe, 完全正确=entirely correct,
    完全错误=entirely incorrect, 基本正确=largely correct, 大部分正确=largely correct, 基本错误=largely incorrect,
    这=this, 该=this, 那=that, 与=, 我=i, 会=would, 点=points, 得=get, 给出=give, 打=give, 应该是=should be,
    候选=candidate, 最合适=best, 更合适=better, 更贴切=better, 完全符合=yes, 当然=of course, 完全不=not, 完全=, 内容=,
    的确=indeed, 确实=indeed, 相矛盾=contradicts, 没有矛盾=no contradiction, 符合描述=matches description,
    不符合=does not match, 不一致=does not match, 并不=not, 不匹配=does not match, 属实=true, 不属实=false, 真=true,
    假=false
"""

JAPANESE = """
    はい=yes, ええ=yes, いいえ=no, いえ=no, 正解=answer, 答え=answer, 回答=answer, 解答=answer, 選択肢=option,
    選択=choice, 選びます=choose, です=, は=is, 正しくありません=incorrect, 正しくない=incorrect, 正しい=correct,
    一致しません=does not match, 一致していません=does not match, 一致しない=does not match, 一致します=matches,
    一致しています=matches, 一致=matches, 合っていません=does not match, 合いません=does not match,
    合っています=matches, 合致=matches, 合って=matches, ありません=not, ません=not, ない=not, なかった=not, 誤り=wrong,
    間違い=wrong, 間違って=wrong, 矛盾=contradicts, わかりません=unknown, 判断できません=unknown, できません=can not,
    動画=video, 映像=video, ビデオ=video, 説明=description, 記述=description, キャプション=caption, 内容=content,
    最初=first, 1番目=first, 一番目=first, 2番目=second, 二番目=second, 最後=last, 第一=first, 第二=second,
    前半=first half, 後半=second half, セグメント=segment, 部分=part, 区間=segment, クリップ=clip,
    前者=the former segment, 後者=the latter segment, 評価=rating, スコア=score, 点数=score, 得点=score, 点=points,
    の方が= better, の方=, ほう=, 方=, より正確=more accurate, より=more, の=of, が=, を=, に=, と=, も=, だ=is,
    完全に正しい=entirely correct, 完全に間違=entirely incorrect, 思います=think, 満点=full marks, つまり=so,
    したがって=therefore, しかし=but, 点です=points, 最も=best, 適切=appropriate, 最適=best, 一番=best,
    その通り=correct, 正確=accurate, 不正確=inaccurate, 矛盾して=contradicts, 違います=no, 違う=no, もちろん=of course,
    ぜんぜん=not, 全く違=no, 確か=sure, ます=, して=, いる=, い=, 符合=matches, 異なります=differs, 異なる=different,
    真=true, 偽=false, でしょう=, だと=, はいいえ=is no, はいえ=is no, ははい=is yes
"""

KOREAN = """
    네=yes, 예=yes, 그렇습니다=yes, 맞습니다=correct, 맞아요=correct, 아니요=no, 아니오=no, 아닙니다=not, 않습니다=not,
    않는다=not, 않아요=not, 없습니다=not, 정답은=answer is, 정답=answer, 답은=answer is, 답변=answer, 답=answer,
    선택지=option, 보기=option, 옵션=option, 입니다=, 이다=, 선택합니다=choose, 선택=choice, 첫 번째=first,
    첫번째=first, 두 번째=second, 두번째=second, 세 번째=third, 구간=segment, 세그먼트=segment, 부분=part, 영상=video,
    비디오=video, 동영상=video, 설명=description, 캡션=caption, 일치합니다=matches, 일치하지=match, 일치=matches,
    부합합니다=matches, 부합하지=match, 정확합니다=accurate, 정확하지=accurate, 정확=accurate, 틀립니다=wrong,
    틀렸습니다=wrong, 잘못=wrong, 점수=score, 평점=rating, 점=points, 모르겠습니다=unknown, 알 수 없습니다=unknown,
    더=more, 가장=best, 만점=full marks, 전반부=first half, 후반부=second half, 제 생각에는=in my opinion,
    생각합니다=i think, 생각에는=in my opinion, 그렇지 않습니다=no, 그렇지=, 그렇다=yes, 당연하죠=of course,
    물론=of course, 물론입니다=of course, 참=true, 거짓=false, 다릅니다=differs, 모순=contradicts, 전혀=not, 아님=no,
    맞음=yes, 맞다=correct, 없다=not, 틀림=wrong
"""

HINDI = """
    हाँ=yes, हां=yes, जी हाँ=yes, जी हां=yes, नहीं=not, जी नहीं=no, है=is, हैं=are, सही=correct, गलत=wrong, ग़लत=wrong,
    उत्तर=answer, जवाब=answer, विकल्प=option, पहला=first, पहले=first, पहली=first, दूसरा=second, दूसरे=second,
    दूसरी=second, तीसरा=third, भाग=part, हिस्सा=part, हिस्से=part, खंड=segment, सेगमेंट=segment, वीडियो=video,
    क्लिप=clip, विवरण=description, कैप्शन=caption, वर्णन=description, मेल=match, खाता=, मैच=match, करता=, अंक=score,
    स्कोर=score, रेटिंग=rating, पता=know, बेहतर=better, सटीक=accurate, लेकिन=but, इसलिए=so, में=, से=, का=of, के=of,
    की=of, मैं=i, देता=give, दूँगा=give, में से=out of, मुझे लगता है कि=i think, मेरे विचार से=in my opinion,
    लगता=seems, कि=, यह=this, सही नहीं=incorrect, बिल्कुल=absolutely, ज़रूर=of course, सत्य=true, असत्य=false,
    हाँ जी=yes, कथन=statement
"""

ARABIC = """
    نعم=yes, أجل=yes, لا=no, ليس=not, ليست=not, غير=not, لم=not, صحيح=correct, صحيحة=correct, الصحيحة=correct,
    الصحيح=correct, خطأ=wrong, خاطئ=wrong, خاطئة=wrong, الإجابة=answer, إجابة=answer, الجواب=answer, الخيار=option,
    هي=is, هو=is, الفيديو=video, فيديو=video, الوصف=description, التعليق=caption, يطابق=matches, تطابق=matches,
    يتطابق=matches, مطابق=matches, يتوافق=matches, دقيق=accurate, المقطع=segment, مقطع=segment, الجزء=part, جزء=part,
    القسم=part, الأول=first, الاول=first, الأولى=first, الثاني=second, الثانية=second, الثالث=third, التقييم=rating,
    الدرجة=score, النتيجة=score, درجة=points, نقاط=points, نقطة=points, أعرف=know, أعلم=know, أختار=i choose, مع=with,
    من=of, لأن=because, لكن=but, أعتقد أن=i think, أعتقد=i think, الأفضل=best, أفضل=better, الأدق=most accurate,
    أدق=more accurate, بالتأكيد=certainly, بالطبع=of course, كلا=no, ليس صحيحا=incorrect, ليس صحيحاً=incorrect,
    غير صحيح=incorrect, غير صحيحة=incorrect, صح=true, تماما=exactly, حتما=certainly, أبدا=never, يتعارض=contradicts,
    يناقض=contradicts, يوافق=matches, بله=yes, خیر=no, ہاں=yes, نہیں=no
"""

RUSSIAN = """
    да=yes, нет=no, не=not, верно=correct, неверно=incorrect, правильно=correct, неправильно=incorrect,
    правильный=correct, правильная=correct, верный=correct, точно=accurate, точное=accurate, точнее=more accurately,
    лучше=better, ответ=answer, вариант=option, выбираю=i choose, выбор=choice, видео=video, ролик=clip,
    описание=description, подпись=caption, описывает=describes, соответствует=matches, совпадает=matches,
    подходит=matches, противоречит=contradicts, первый=first, первая=first, первом=first, первое=first, первую=first,
    второй=second, вторая=second, втором=second, второе=second, вторую=second, третий=third, сегмент=segment,
    фрагмент=segment, часть=part, отрывок=segment, половина=half, клип=clip, половине=half, части=part, оценка=rating,
    оцениваю=i rate, балл=points, балла=points, баллов=points, знаю=know, могу=can, определить=determine, сказать=say,
    думаю=think, поэтому=so, потому=because, но=but, и=and, или=or, на=on, этот=this, это=this is, я=i, в=in, бы=,
    лучший=best, ложь=false, правда=true, ошибка=wrong, как=as, описано=described, точен=accurate, неточно=inaccurate,
    с=with, уверен=sure, по-моему=in my opinion, кажется=seems, является=is, более=more, точный=accurate,
    точная=accurate, неправильный=incorrect, неверный=incorrect, ближе=closer, оба=both, обе=both, никакой=none,
    вариантом=option, описанию=description, подписи=caption, происходит=happens, неверна=incorrect, верна=correct,
    точна=accurate, соответствуют=match, ставлю=i give, даю=i give, поставлю=i give, из=out of, конечно=of course,
    разумеется=of course, безусловно=absolutely, совсем нет=no, никак нет=no, вовсе нет=no, нисколько=not at all,
    именно=exactly, совершенно верно=correct, несомненно=undoubtedly, это так=it is so, это не так=it is not,
    не так=not correct, так=yes, ні=no
"""

GERMAN = """
    ja=yes, nein=no, nicht=not, kein=no, keine=no, ist=is, sind=are, die=the, der=the, das=the, dem=the, den=the,
    des=of, ein=a, eine=a, und=and, oder=or, aber=but, antwort=answer, richtig=correct, richtige=correct,
    richtigen=correct, korrekt=correct, korrekte=correct, falsch=wrong, stimmt=correct, überein=,
    übereinstimmt=matches, passt=matches, entspricht=matches, zutreffend=accurate, zutrifft=matches, trifft zu=matches,
    trifft=matches, genau=accurate, besser=better, beste=best, besten=best, am=, beschreibt=describes,
    beschreibung=description, bildunterschrift=caption, untertitel=caption, video=video, option=option,
    möglichkeit=option, aussage=statement, erste=first, ersten=first, erster=first, erstes=first, zweite=second,
    zweiten=second, zweiter=second, zweites=second, dritte=third, letzte=last, segment=segment, abschnitt=segment,
    teil=part, hälfte=half, clip=clip, punkte=points, punkten=points, punkt=point, von=of, vergebe=give, gebe=give,
    bewerte=rate, bewertung=rating, mit=with, ich=i, kann=can, beurteilen=judge, sagen=say, weiß=know, wähle=choose,
    würde=would, glaube=think, denke=think, daher=therefore, also=so, deshalb=so, weil=because, denn=because, es=it,
    dass=that, vor=before, nach=after, schwarzen=black, schwarze=black, bild=frame, bildschirm=screen,
    vielleicht=maybe, drei=three, zwei=two, eins=one, null=zero, vollständig=entirely, größtenteils=largely,
    völlig=entirely, unklar=unclear, im=in, zur=to, zu=to, keine ahnung=unknown, widerspricht=contradicts, für=for,
    lautet=is, wählen=choose, entscheide=choose, entscheiden=choose, meiner meinung nach=in my opinion, sehr=very,
    schon=, doch=, nur=only, wird=is, wurde=was, hat=has, wäre=would be, sondern=but, genannte=, gezeigt=shown,
    stimme=agree, falsche=wrong, unzutreffend=inaccurate, ungenau=inaccurate, widersprüchlich=contradictory,
    abschnitts=segment, das stimmt nicht=that is not correct, das stimmt=that is correct, es stimmt=it is correct,
    stimmt nicht=is not correct, als=than, schlechter=worse, jawohl=yes, sicher=sure, natürlich=of course,
    selbstverständlich=of course, absolut=absolutely, auf keinen fall=no, überhaupt nicht=not at all, keineswegs=no,
    unmöglich=impossible
"""

FRENCH = """
    oui=yes, non=no, ne=, pas=not, est=is, sont=are, la=the, le=the, les=the, l'=the, un=a, une=a, des=of, du=of,
    de=of, et=and, ou=or, mais=but, réponse=answer, reponse=answer, bonne=correct, correcte=correct, correct=correct,
    exacte=correct, exact=correct, vrai=true, vraie=true, faux=false, fausse=false, incorrecte=incorrect,
    incorrect=incorrect, correspond=matches, correspondent=match, légende=caption, description=description,
    décrit=describes, vidéo=video, video=video, premier=first, première=first, premiere=first, second=second,
    seconde=second, deuxième=second, troisième=third, dernier=last, segment=segment, partie=part, moitié=half,
    extrait=clip, séquence=segment, mieux=better, meilleure=best, meilleur=best, je=i, choisis=choose, pense=think,
    donne=give, attribue=give, note=score, point=points, points=points, sur=out of, choix=choice, option=option,
    que=that, car=because, donc=so, sais=know, peux=can, juger=judge, déterminer=determine, dire=say, avant=before,
    après=after, noir=black, noire=black, écran=screen, image=frame, c'est=it is, entièrement=entirely,
    partiellement=partly, contredit=contradicts, avec=with, à=to, au=to, cette=this, ce=this, deux=two, trois=three,
    zéro=zero, peut-être=maybe, aucune=no, aucun=no, en=in, dans=in, dirais=would say, absolument=absolutely,
    bien sûr=of course, à mon avis=in my opinion, soit=is, plus=more, précise=accurate, précis=accurate, moins=less,
    fidèle=accurate, fidèlement=accurately, ni=nor, les deux=both, première partie=first part, choisirais=would choose,
    vote=vote, semble=seems, meilleur que=better than, meilleure que=better than, mieux que=better than,
    que le=than the, pire que=worse than, pas du tout=not at all, tout à fait=absolutely, absolument pas=not at all,
    certainement=certainly, exactement=exactly, évidemment=of course, aucunement=not at all, vraiment=really,
    peut être=maybe, certainement pas=certainly not, pas vraiment=not really, pas exactement=not exactly
"""

SPANISH = """
    sí=yes, si=yes, no=no, es=is, son=are, la=the, el=the, los=the, las=the, un=a, una=a, del=of, de=of, y=and, o=or,
    pero=but, respuesta=answer, correcta=correct, correcto=correct, incorrecta=incorrect, incorrecto=incorrect,
    verdadero=true, verdadera=true, falso=false, falsa=false, coincide=matches, corresponde=matches, concuerda=matches,
    describe=describes, descripción=description, descripcion=description, leyenda=caption, subtítulo=caption,
    vídeo=video, video=video, opción=option, opcion=option, primer=first, primera=first, primero=first, segundo=second,
    segunda=second, tercera=third, última=last, último=last, segmento=segment, parte=part, mitad=half,
    fragmento=segment, mejor=better, yo=i, elijo=choose, escojo=choose, creo=think, puntuación=score,
    calificación=score, puntaje=score, nota=score, puntos=points, punto=points, doy=i give, le doy=i give, que=that,
    porque=because, ya que=because, por lo tanto=therefore, así que=so, no lo sé=unknown, sé=know, no sé=unknown,
    no se sabe=unknown, no estoy segura=not sure, no estoy seguro=not sure, puedo=can, antes=before, después=after,
    negra=black, negro=black, pantalla=screen, fotograma=frame, cuadro=frame, a mi parecer=in my opinion,
    en mi opinión=in my opinion, con=with, se=, al=to, este=this, esta=this, dos=two, tres=three, cero=zero, uno=one,
    sobre=out of, quizás=maybe, ninguna=none, contradice=contradicts, no coincide=does not match,
    no corresponde=does not match, no es=is not, no describe=does not describe, lo=it, en=in, para=for,
    por supuesto=of course, claro que sí=yes, claro que no=no, totalmente=entirely, completamente=entirely,
    a mi juicio=in my opinion, más=more, precisa=accurate, preciso=accurate, exacta=accurate, exacto=accurate,
    menos=less, ninguno=none, ambas=both, ambos=both, parece=seems, elegiría=would choose, sea=is, está=is,
    equivocada=wrong, equivocado=wrong, errónea=wrong, le=, otorgo=give, asigno=give, pondría=would give,
    mejor que=better than, peor que=worse than, que la=than the, la opción=option, por supuesto que no=no,
    para nada=not at all, claro=of course, desde luego=of course, exactamente=exactly, en absoluto=not at all,
    efectivamente=indeed, tal vez=maybe, así es=it is, no es así=it is not, cierto=true, no es cierto=not true,
    seguro=sure
"""

PORTUGUESE = """
    sim=yes, não=no, nao=no, é=is, são=are, a resposta=the answer, resposta=answer, a=the, o=the, os=the, as=the, um=a,
    uma=a, da=of, do=of, de=of, e=and, ou=or, mas=but, correta=correct, correto=correct, certa=correct, certo=correct,
    incorreta=incorrect, incorreto=incorrect, errada=wrong, errado=wrong, verdadeiro=true, falso=false,
    corresponde=matches, coincide=matches, combina=matches, descreve=describes, descrição=description, legenda=caption,
    vídeo=video, video=video, opção=option, alternativa=option, primeiro=first, primeira=first, segundo=second,
    segunda=second, terceira=third, segmento=segment, parte=part, metade=half, trecho=segment, melhor=better, eu=i,
    escolho=choose, acho=think, pontuação=score, nota=score, pontos=points, ponto=points, dou=i give, que=that,
    porque=because, pois=because, portanto=therefore, não sei=unknown, não posso=can not, antes=before, depois=after,
    após=after, preta=black, preto=black, tela=screen, quadro=frame, com=with, dois=two, duas=two, três=three,
    zero=zero, não é=is not, não corresponde=does not match, não coincide=does not match,
    não descreve=does not describe, não está=is not, está=is, talvez=maybe, na=in, no=in, em=in,
    na minha opinião=in my opinion, a meu ver=in my opinion, mais=more, precisa=accurate, exata=accurate, menos=less,
    nenhuma=none, ambas=both, parece=seems, seja=is, escolheria=would choose, correspondem=match,
    com certeza=certainly, claro=of course, exatamente=exactly, de jeito nenhum=no, de forma alguma=no,
    certamente=certainly, é verdade=true, isso mesmo=yes, absolutamente=absolutely
"""

ITALIAN = """
    sì=yes, si=yes, no=no, non=not, è=is, sono=are, la=the, il=the, lo=the, l'=the, un=a, una=a, del=of, della=of,
    di=of, e=and, o=or, ma=but, risposta=answer, corretta=correct, corretto=correct, giusta=correct, giusto=correct,
    sbagliata=wrong, sbagliato=wrong, errata=wrong, errato=wrong, vero=true, vera=true, falso=false, falsa=false,
    corrisponde=matches, coincide=matches, descrive=describes, descrizione=description, didascalia=caption,
    video=video, opzione=option, scelta=choice, primo=first, prima=first, secondo=second, seconda=second, terza=third,
    segmento=segment, parte=part, metà=half, clip=clip, meglio=better, migliore=best, io=i, scelgo=choose, credo=think,
    penso=think, punteggio=score, voto=score, punti=points, punto=points, do=i give, che=that, perché=because,
    quindi=so, pertanto=therefore, non lo so=unknown, non so=unknown, posso=can, dopo=after, nero=black, nera=black,
    schermo=screen, fotogramma=frame, con=with, due=two, tre=three, zero=zero, su=out of, nel=in, forse=maybe,
    secondo me=in my opinion, a mio parere=in my opinion, sia=is, mi sembra=seems, più=more, accurata=accurate,
    accurato=accurate, meno=less, precisa=accurate, nessun=no, nessuna=no, entrambe=both, meglio di=better than,
    migliore di=better than, certo=certainly, esatto=correct, esattamente=exactly, certamente=certainly,
    assolutamente no=no, assolutamente sì=yes, assolutamente=absolutely, per niente=not at all, affatto=not at all,
    ovviamente=of course, è vero=true, non è vero=not true
"""

DUTCH = """
    ja=yes, nee=no, niet=not, geen=no, is=is, de=the, het=the, een=a, en=and, of=or, maar=but, antwoord=answer,
    juist=correct, juiste=correct, correct=correct, klopt=matches, onjuist=incorrect, fout=wrong, komt overeen=matches,
    beschrijving=description, beschrijft=describes, bijschrift=caption, optie=option, eerste=first, tweede=second,
    derde=third, segment=segment, deel=part, helft=half, fragment=segment, beter=better, beste=best, ik=i, kies=choose,
    weet=know, kan=can, punten=points, score=score, want=because, omdat=because, dus=so, met=with, voor=before,
    na=after, zwarte=black, scherm=screen, beeld=frame
"""

OTHERS = """
    evet=yes, hayır=no, tak=yes, nie=no, ano=yes, ne=no, nej=no, jo=yes, kyllä=yes, ei=no, igen=yes, nem=no, vâng=yes,
    có=yes, không=no, ya=yes, tidak=no, ใช่=yes, ไม่ใช่=no, ไม่=no, ναι=yes, όχι=no, כן=yes, לא=no, بله=yes, خیر=no,
    так=yes, ні=no, হ্যাঁ=yes, না=no, cevap=answer, odpowiedź=answer, svar=answer, svaret=answer, jawaban=answer,
    jawabannya=answer, đáp án=answer, là=is, adalah=is, to=is, är=is, er=is, yanıt=answer, birinci=first,
    ikinci=second, ilk=first, bölüm=segment, pierwszy=first, drugi=second, segment=segment, första=first, andra=second,
    pertama=first, kedua=second, segmen=segment, poprawna=correct, doğru=correct, yanlış=wrong, benar=correct,
    salah=wrong, đúng=correct, sai=wrong, puan=points, punkty=points, poäng=points, skor=score, điểm=points,
    câu trả lời=answer, chính xác=accurate, tôi chọn=i choose, wybieram=i choose, seçiyorum=i choose,
    doğrudur=is correct, eşleşiyor=matches, eşleşmiyor=does not match, zgadza się=matches,
    nie zgadza się=does not match, stämmer=matches, stämmer inte=does not match, sesuai=matches,
    tidak sesuai=does not match, bagian=part, część=part, del=part, phần=part, đầu tiên=first, thứ hai=second,
    opsi=option, seçenek=option, opcja=option, alternativ=option, det stämmer=it is correct,
    det stämmer inte=it is not correct, det är korrekt=it is correct, doğru değil=not correct, değil=not, prawda=true,
    fałsz=false, prawidłowo=correct, nieprawda=false, hayir=no, hindi po=no
"""
