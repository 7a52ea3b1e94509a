"""Short reviews in twenty-four languages, for files in legacy encodings; other words than those of `languages.tsv`."""

import random

TEXTS = {
    "de": (
        "Das Gerät kam beschädigt an|Mein Müller-Joghurt schmeckt|Die Hörbücher gefallen mir|"
        "Für Anfänger taugt es|Der Größenwahn der Köche nervt|Schön verpackt und pünktlich|"
        "Unser Frühstück war dürftig|Überall lag Müll",
        "und läuft nicht|wie früher, fröhlich|fürchterlich überteuert|aber zuverlässig|"
        "das müsste man ändern|völlig überflüssig|nie wieder, schade|gänzlich ohne Gefühl",
    ),
    "fr": (
        "Le téléphone s'éteint tout seul|Notre séjour à l'hôtel s'est bien passé|"
        "Cette pièce de théâtre m'a ennuyé|Le vendeur répond très vite|J'espérais un goût sucré|"
        "La crème sèche la peau|Le château était fermé|Les enfants ont adoré",
        "et déjà cassé|malgré la pluie d'été|ça suffit|à éviter absolument|quelle réussite|"
        "je suis déçue|même après réparation|trop cher où que ce soit",
    ),
    "es": (
        "El móvil llegó roto|La atención fue pésima|Qué canción tan triste|Mi cuñada compró dos sillas|"
        "El jabón huele bien|La batería dura poquísimo|No funcionó jamás|El sillón es cómodo",
        "y nadie respondió|¡increíble!|¿qué más se puede pedir?|volveré el próximo otoño|"
        "según mi opinión|qué lástima|está dañado|sin ningún problema",
    ),
    "pt": (
        "O chão do quarto estava sujo|A ligação caiu três vezes|O pão é fresquinho|"
        "Minha irmã adorou a canção|O botão não funciona|A decoração é horrível|"
        "Ninguém atendeu o telefone|O avião atrasou",
        "e não houve explicação|péssimo, sem dúvida|ótima opção|já pedi a devolução|não comprem|"
        "voltarei em março|é uma bênção|faltou educação",
    ),
    "it": (
        "La città è rumorosa|Il caffè sapeva di bruciato|Non capirò mai questa trama|"
        "La novità più bella|Il tè è buonissimo|Il telefono si è rotto|Chissà perché costa tanto|"
        "La libertà di scelta c'è",
        "ma tornerò|perciò niente stelle|e non finirà qui|già consigliato|è un peccato|però funziona|"
        "così così|né bello né brutto",
    ),
    "sv": (
        "Hörlurarna låter bra|Frukosten på hotellet var usel|Vädret förstörde resan|"
        "Barnen älskade spelet|Färgen stämmer inte|Skådespelarna övertygar|Batteriet dör för fort|"
        "Åkturen blev rolig",
        "men kostar för många kronor|så jag är nöjd|aldrig någonsin igen|tyvärr på svenska|"
        "ändå värt pengarna|det går åt helvete|längtar efter mer|särskilt på hösten",
    ),
    "da": (
        "Hovedtelefonerne går i stykker|Værelset lugtede af røg|Maden smagte frygteligt|"
        "Børnene kører gerne igen|Prisen er høj|Skærmen blev ødelagt|Køkkenet er nyt|Så sød en hund",
        "og ingen tør sige noget|på grund af støj|det ærgrer mig|før jul|årets bedste køb|"
        "helt nødvendigt|lækkert og nærende|ikke værd at læse",
    ),
    "fi": (
        "Kuulokkeet hajosivat heti|Hotellin aamiainen oli hyvä|Sää pilasi lomamme täysin|"
        "Lapset rakastivat peliä|Väri ei täsmää|Näytelmä herätti ajatuksia|Akku kestää päivän|"
        "Myyjä oli ystävällinen",
        "enkä pidä tästä|hinta päätä huimaa|silti ihan jees|pettymys äidille|mieletön löytö|"
        "ei ikinä enää|yllättävän kevyt|käy täydestä",
    ),
    "pl": (
        "Słuchawki się zepsuły|Śniadanie w hotelu było okropne|Dzieci pokochały tę grę|"
        "Żona jest zachwycona|Bateria trzyma długo|Kurier przyjechał spóźniony|Łóżko okazało się twarde|"
        "Aktorzy grają znakomicie",
        "i nikt nie odpowiedział|więc oddałem|gorąco polecam|nigdy więcej|szkoda pieniędzy|"
        "ładnie wykończone|jestem bardzo zadowolona|dźwięk jest słaby",
    ),
    "cs": (
        "Sluchátka se hned rozbila|Snídaně v hotelu byla otřesná|Děti tu hru milují|Manželka je nadšená|"
        "Baterie vydrží dlouho|Kurýr přijel pozdě|Postel byla příliš tvrdá|Herci hrají skvěle",
        "a nikdo neodpověděl|takže vracím zpět|vřele doporučuji|nikdy více|škoda peněz|hezké provedení|"
        "jsem velmi spokojená|zvuk je slabší",
    ),
    "hu": (
        "A fülhallgató rögtön elromlott|A szállodai reggeli szörnyű volt|A gyerekek imádják a játékot|"
        "A feleségem nagyon örült|Az akkumulátor sokáig bírja|A futár későn jött|Az ágy túl kemény|"
        "A színészek remekül játszanak",
        "és senki sem válaszolt|visszaküldtem|csak ajánlani tudom|soha többé|kár a pénzért|"
        "igényes kivitel|elégedett vevő|gyönyörű, de drága",
    ),
    "hr": (
        "Slušalice su se odmah pokvarile|Doručak u hotelu bio je užasan|Djeca obožavaju igru|"
        "Žena je oduševljena|Baterija traje cijeli tjedan|Dostavljač kasni|Krevet je pretvrd|"
        "Glumci su izvrsni",
        "i nitko se nije javio|vraćam pošiljku|svakako preporučujem|nikad više|šteta novca|sviđa mi se|"
        "zvuk je očajan|vrlo čisto i uredno",
    ),
    "tr": (
        "Kulaklık hemen bozuldu|Oteldeki kahvaltı berbattı|Çocuklar oyuna bayıldı|Eşim çok beğendi|"
        "Pili uzun süre dayanıyor|Kargo geç ulaştı|Yatak fazla sertti|Oyuncular harika iş çıkarmış",
        "ve kimse cevap vermedi|iade ediyorum|şiddetle öneririm|bir daha asla|parama yazık|"
        "işçilik özenli|memnun kaldım|sesi zayıf",
    ),
    "ru": (
        "Наушники сразу сломались|Завтрак в гостинице отвратительный|Дети полюбили игру|Жена в восторге|"
        "Батарея держит долго|Курьер опоздал на час|Кровать слишком жёсткая|Актёры играют прекрасно",
        "и никто не ответил|вернул деньги|советую всем|больше не куплю|жаль денег|сделано аккуратно|"
        "остался доволен|звук слабый",
    ),
    "uk": (
        "Навушники одразу зламалися|Сніданок у готелі жахливий|Діти полюбили гру|Дружина в захваті|"
        "Батарея тримає довго|Кур'єр запізнився|Ліжко надто тверде|Актори грають чудово",
        "і ніхто не відповів|повертаю гроші|раджу всім|більше не куплю|шкода коштів|зроблено охайно|"
        "їжі не вистачило|звук слабкий",
    ),
    "bg": (
        "Слушалките веднага се счупиха|Закуската в хотела беше отвратителна|Децата обичат играта|"
        "Жена ми е доволна|Батерията държи дълго|Куриерът закъсня|Леглото е твърдо|"
        "Актьорите играят чудесно",
        "и никой не отговори|върнах я обратно|препоръчвам на всички|повече няма да купя|жалко за парите|"
        "изработката е добра|останах доволен|звукът е слаб",
    ),
    "el": (
        "Τα ακουστικά χάλασαν αμέσως|Το πρωινό στο ξενοδοχείο ήταν φρικτό|"
        "Τα παιδιά λάτρεψαν το παιχνίδι|Η γυναίκα μου ενθουσιάστηκε|Η μπαταρία κρατάει πολύ|"
        "Ο κούριερ άργησε|Το κρεβάτι ήταν σκληρό|Οι ηθοποιοί παίζουν υπέροχα",
        "και κανείς δεν απάντησε|το επέστρεψα|το συνιστώ ανεπιφύλακτα|ποτέ ξανά|κρίμα τα λεφτά|"
        "προσεγμένη δουλειά|έμεινα ευχαριστημένος|ο ήχος είναι αδύναμος",
    ),
    "he": (
        "האוזניות התקלקלו מיד|ארוחת הבוקר במלון הייתה גרועה|הילדים אהבו את המשחק|אשתי מרוצה|"
        "הסוללה מחזיקה הרבה|השליח איחר|המיטה קשה מדי|השחקנים נהדרים",
        "ואף אחד לא ענה|החזרתי מיד|ממליץ בחום|פעם אחרונה|חבל על הכסף|עבודה נקייה|נשארתי מרוצה|הצליל חלש",
    ),
    "ar": (
        "تعطلت السماعات فورا|فطور الفندق سيئ للغاية|أحب الأطفال اللعبة|زوجتي سعيدة بالهدية|"
        "البطارية تدوم طويلا|تأخر المندوب ساعة|السرير قاس جدا|الممثلون رائعون",
        "ولم يجبني أحد|أعدت المنتج|أنصح به الجميع|لن أشتري ثانية|خسارة المال|صنع متقن|خرجت راضيا|الصوت ضعيف",
    ),
    "th": (
        "หูฟังเสียทันที|อาหารเช้าโรงแรมรสชาติแย่|เด็กๆ ชอบเกมนี้|ภรรยาผมพอใจ|แบตเตอรี่อยู่ได้นาน|คนส่งของมาสาย|เตียงแข็งเกินไป|นักแสดงเล่นดี",
        "ไม่มีใครตอบ|ขอคืนเงิน|แนะนำเลย|พอกันที|เสียดายตังค์|งานเรียบร้อย|ประทับใจ|เสียงเบา",
    ),
    "zh-Hans": (
        "耳机马上就坏了|酒店的早餐很难吃|孩子们很喜欢这个游戏|我太太非常满意|电池可以用很久|"
        "快递员迟到了一个小时|床太硬睡不好|演员演得真好",
        "，没有人回复我。|，已经退货了。|，强烈推荐给大家。|，再也不买了！|，浪费钱。|，做工细致。|"
        "，总体满意。|，声音太小。",
    ),
    "zh-Hant": (
        "耳機馬上就壞了|飯店的早餐很難吃|孩子們很喜歡這個遊戲|我太太非常滿意|電池可以用很久|"
        "快遞員遲到了一個小時|床太硬睡不好|演員演得真好",
        "，沒有人回覆我。|，已經退貨了。|，強烈推薦給大家。|，再也不買了！|，浪費錢。|，做工細緻。|"
        "，總體滿意。|，聲音太小。",
    ),
    "ja": (
        "イヤホンがすぐに壊れました|ホテルの朝食はまずかった|子供たちはこのゲームが大好き|"
        "妻はとても喜んでいます|電池は長持ちします|配達員が遅れて来た|ベッドが硬すぎる|"
        "俳優の演技が素晴らしい",
        "。誰も返事をくれません。|。返品しました。|。みんなに勧めたい。|。二度と買わない！|"
        "。お金の無駄。|。丁寧な作りです。|。満足しました。|。音が小さい。",
    ),
    "ko": (
        "이어폰이 바로 고장났어요|호텔 조식이 맛없었다|아이들이 게임을 좋아해요|아내가 매우 만족합니다|"
        "배터리가 오래 갑니다|택배 기사가 늦었어요|침대가 너무 딱딱해요|배우들 연기가 훌륭하다",
        " 아무도 답이 없네요.| 환불했습니다.| 모두에게 추천해요.| 다시는 안 사요!| 돈 낭비.|"
        " 마감이 깔끔해요.| 만족스럽습니다.| 소리가 작다.",
    ),
}
"""Language → beginnings and endings, with bars between."""

ENCODINGS = {
    **dict.fromkeys(("de", "fr", "es", "pt", "it", "sv", "da", "fi"), ("cp1252", "latin-1", "mac-roman")),
    **dict.fromkeys(("pl", "cs", "hu", "hr"), ("cp1250", "iso8859-2")),
    "tr": ("cp1254", "iso8859-9"),
    "ru": ("cp1251", "koi8-r", "cp866", "iso8859-5"),
    "uk": ("cp1251", "koi8-u"),
    "bg": ("cp1251",),
    "el": ("cp1253", "iso8859-7"),
    "he": ("cp1255", "iso8859-8"),
    "ar": ("cp1256", "iso8859-6"),
    "th": ("cp874",),
    "zh-Hans": ("gb18030", "gb2312"),
    "zh-Hant": ("big5",),
    "ja": ("cp932", "euc-jp"),
    "ko": ("cp949",),
}
"""Language → the legacy encodings in which its files are met."""


def reviews(language: str, rows: int) -> str:
    firsts, lasts = (part.split("|") for part in TEXTS[language])
    joint = "" if language in ("zh-Hans", "zh-Hant", "ja", "ko") else " "
    texts = [f"{first}{joint}{last}" for first in firsts for last in lasts]
    random.Random(language).shuffle(texts)
    lines = [f'"{text}",{("negative", "positive")[number % 2]}' for number, text in enumerate(texts[:rows])]
    return "\n".join(["text,label", *lines]) + "\n"
